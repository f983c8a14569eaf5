# ActiveRecord refuses a table with a column that has the name of a method of its own. Prints how many it can use.
require 'active_record'

ActiveRecord::Base.establish_connection(ENV.fetch('AUTHOR_URL').sub('postgres://', 'postgresql://'))
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
puts tables.length
