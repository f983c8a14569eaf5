# Times and numbers as ActiveRecord writes them: times in UTC, without a zone, in a session of UTC. Prints what was refused as JSON.
require 'active_support/all'
require 'active_record'
require 'json'

Time.zone_default = Time.find_zone!(ENV.fetch('ZONE'))
ActiveRecord::Base.time_zone_aware_attributes = true
ActiveRecord::Base.establish_connection(ENV.fetch('AUTHOR_URL').sub('postgres://', 'postgresql://'))

class Task < ActiveRecord::Base
  self.table_name = 'warehouse.tasks'
  self.primary_key = 'row_id'
  self.ignored_columns = %w[created_at updated_at created_on updated_on]
end

class JobCharge < ActiveRecord::Base
  self.table_name = 'warehouse.job_charges'
  self.primary_key = 'row_id'
  self.ignored_columns = %w[created_at updated_at created_on updated_on]
end

Task.create!(name: 'naive', scheduled_at: '2027-03-01 09:00:30')
Task.create!(name: 'aware', scheduled_at: Time.utc(2027, 3, 1, 14, 0, 30))
JobCharge.create!(job_number: ENV.fetch('JOB'), price_per_unit: BigDecimal((0.1 + 0.2).to_s))
puts JSON.generate(refused: nil)
