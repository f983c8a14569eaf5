-- Working hours may be told before their employee is mirrored: a file of settings is applied to an
-- empty installation. They move to mart.capacity in the transaction that brings the employee's
-- number.
CREATE OR REPLACE FUNCTION sync.take_capacity() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  WITH come AS (
    DELETE FROM sync.capacity_to_come AS held USING warehouse.employees AS employee
     WHERE employee.account_id = held.account_id AND employee.employee_number = held.employee_number
 RETURNING employee.row_id, held.working_hours
  )
  INSERT INTO mart.capacity (employee_key, working_hours) SELECT row_id, working_hours FROM come
      ON CONFLICT (employee_key) DO NOTHING;
  RETURN NULL;
END $$;
COMMENT ON FUNCTION sync.take_capacity IS 'Trigger: moves working hours that were told before their employee came to mart.capacity.';

CREATE OR REPLACE TRIGGER capacity_come AFTER INSERT OR UPDATE OF employee_number ON warehouse.employees
FOR EACH STATEMENT EXECUTE FUNCTION sync.take_capacity();
