# An author's day with ActiveRecord. Prints what became of it as JSON.
require 'active_record'
require 'json'

ActiveRecord::Base.establish_connection(ENV.fetch('AUTHOR_URL').sub('postgres://', 'postgresql://'))

# ActiveRecord refuses a table with a column that has the name of a method of its own: every table can be used.
tables = ActiveRecord::Base.connection.select_values(
  "SELECT table_name FROM information_schema.tables WHERE table_schema = 'warehouse'"
)
tables.each do |table|
  Class.new(ActiveRecord::Base) do
    self.table_name = "warehouse.#{table}"
    self.primary_key = 'row_id'
    define_singleton_method(:name) { table.classify }
    define_attribute_methods
    new
  end
end

class Customer < ActiveRecord::Base
  self.table_name = 'warehouse.customers'
  self.primary_key = 'row_id'
  # These are the service's; ActiveRecord would fill every column of these names by itself.
  self.ignored_columns = %w[created_at updated_at]
end

held = Customer.find_by!(customer_number: ENV.fetch('CUSTOMER'))
made = Customer.create!(external_key: 'active_record-1', name: 'Ada', phone_number: '555-0100')
made.update!(phone_number: '555-0101')
held.update!(fax: '555-0179')
['Grace', 'Grace Hopper'].each do |name|
  Customer.upsert_all([{ account_id: held.account_id, external_key: 'active_record-2', name: name }],
                      unique_by: %i[account_id external_key])
end
Customer.create!(external_key: 'active_record-3', name: 'Gone').destroy!
refused = begin
  held.update!(balance: 7)
  nil
rescue ActiveRecord::StatementInvalid => e
  e.message
end
puts JSON.generate(tables: tables.length, refused: refused)
