# A day of an ERP with ActiveRecord: ruby day.rb DEMO, where DEMO begins the keys of this run.
require 'active_record'

ActiveRecord::Base.establish_connection(ENV.fetch('AUTHOR_URL').sub('postgres://', 'postgresql://'))
key = ARGV.fetch(0)

class Row < ActiveRecord::Base
  self.abstract_class = true
  self.primary_key = 'row_id'
  # These belong to the service; ActiveRecord would fill every column of these names automatically.
  self.ignored_columns = %w[created_at created_on updated_at updated_on]
end

class Customer < Row
  self.table_name = 'warehouse.customers'
end

class Job < Row
  self.table_name = 'warehouse.jobs'
end

# Create. A job names its customer by row_id: a new customer has no number yet.
ada = Customer.create!(external_key: "#{key}-C1", name: 'Ada', phone_number: '555-0100')
boiler = Job.create!(external_key: "#{key}-J1", parent_row_id: ada.row_id, name: 'Boiler')

# Update: what this program has made, and a customer that the service had before.
ada.update!(phone_number: '555-0101')
boiler.update!(name: 'Replace the boiler')
held = Customer.where(_deleted_at: nil).where.not(customer_number: nil).order(:customer_number).first
held.update!(fax: "#{key} 555-0179")

# Upsert, twice with the same keys.
account = { account_id: held.account_id }
unique_by = %i[account_id external_key]
['Grace', 'Grace Hopper'].each do |name|
  Customer.upsert_all([{ **account, external_key: "#{key}-C2", name: name }], unique_by: unique_by)
end
number = { customer_number: held.customer_number }
['Pump', 'Check the pump'].each do |name|
  Job.upsert_all([{ **account, **number, external_key: "#{key}-J2", name: name }], unique_by: unique_by)
end

# Delete.
Customer.create!(external_key: "#{key}-C3", name: 'Gone').destroy!
Job.create!(**number, external_key: "#{key}-J3", name: 'Gone').destroy!

# Refused: only the service computes a balance.
begin
  held.update!(balance: 7)
rescue ActiveRecord::StatementInvalid => e
  puts e.message
end
