// Every kind of change once: the request to the HTTP API, and the same in SQL.

/** One change as a request to the HTTP API and in SQL; $1 is the account. */
export interface Case {
  readonly ask: Readonly<Record<string, unknown>> & {
    readonly table: string;
    readonly operation: string;
  };
  readonly sql: readonly string[];
}

/** Every operation of every table that can be written. */
export const cases: readonly Case[] = [
  {
    ask: {
      table: 'customers',
      operation: 'create',
      external_key: 'K1',
      fields: {name: "O'Neil", phone_number: '1'},
    },
    sql: [
      `INSERT INTO warehouse.customers (account_id, external_key, name, phone_number)
        VALUES ($1, 'K1', 'O''Neil', '1')`,
    ],
  },
  {
    ask: {
      table: 'customers',
      operation: 'update',
      number: 1,
      fields: {phone_number: '555-0199', service_city: null},
    },
    sql: [
      `UPDATE warehouse.customers SET phone_number = '555-0199', service_city = NULL
        WHERE account_id = $1 AND customer_number = 1`,
    ],
  },
  {
    ask: {table: 'customers', operation: 'delete', number: '2'},
    sql: ['DELETE FROM warehouse.customers WHERE account_id = $1 AND customer_number = 2'],
  },
  {
    ask: {
      table: 'customer_notes',
      operation: 'create',
      parent: {number: 1},
      fields: {note: 'Cat\nand dog'},
    },
    sql: [
      `INSERT INTO warehouse.customer_notes (account_id, customer_number, note)
        VALUES ($1, 1, E'Cat\\nand dog')`,
    ],
  },
  {
    ask: {table: 'customer_notes', operation: 'update', number: 71, fields: {note: 'Cat'}},
    sql: [`UPDATE warehouse.customer_notes SET note = 'Cat' WHERE account_id = $1 AND id = 71`],
  },
  {
    ask: {table: 'customer_notes', operation: 'delete', number: 71},
    sql: ['DELETE FROM warehouse.customer_notes WHERE account_id = $1 AND id = 71'],
  },
  {
    ask: {
      table: 'jobs',
      operation: 'create',
      parent: {number: 3},
      fields: {
        name: 'Door',
        scheduled_on: '2027-07-04 09:30',
        job_type_id: 4,
        employee_ids: [502, 501],
      },
    },
    sql: [
      `WITH job AS (INSERT INTO warehouse.jobs (account_id, customer_number, name, scheduled_on,
        job_type_id)
                    VALUES ($1, 3, 'Door', '2027-07-04 09:30-04', 4) RETURNING row_id)
       INSERT INTO warehouse.job_employees (account_id, parent_row_id, employee_id)
       SELECT $1, row_id, id FROM job, unnest('{501,502}'::bigint[]) AS id`,
    ],
  },
  {
    ask: {
      table: 'jobs',
      operation: 'update',
      number: 11,
      fields: {scheduled_on: '2027-11-07 01:30', employee_ids: ['502']},
    },
    sql: [
      `UPDATE warehouse.jobs SET scheduled_on = '2027-11-07 01:30-04'
        WHERE account_id = $1 AND job_number = 11`,
      'DELETE FROM warehouse.job_employees WHERE account_id = $1 AND job_number = 11',
      `INSERT INTO warehouse.job_employees (account_id, job_number, employee_id)
       VALUES ($1, 11, 502)`,
    ],
  },
  {
    ask: {table: 'jobs', operation: 'delete', number: 12},
    sql: ['DELETE FROM warehouse.jobs WHERE account_id = $1 AND job_number = 12'],
  },
  {
    ask: {table: 'job_notes', operation: 'create', parent: {number: 12}, fields: {note: 'Key'}},
    sql: [`INSERT INTO warehouse.job_notes (account_id, job_number, note) VALUES ($1, 12, 'Key')`],
  },
  {
    ask: {table: 'job_notes', operation: 'update', number: 81, fields: {note: 'Two ladders'}},
    sql: [`UPDATE warehouse.job_notes SET note = 'Two ladders' WHERE account_id = $1 AND id = 81`],
  },
  {
    ask: {table: 'job_notes', operation: 'delete', number: 81},
    sql: ['DELETE FROM warehouse.job_notes WHERE account_id = $1 AND id = 81'],
  },
  {
    ask: {
      table: 'time_entries',
      operation: 'create',
      parent: {number: 11},
      fields: {employee_id: 501, started_on: '2027-02-01T08:00:00-05:00', number_of_hours: 2.25},
    },
    sql: [
      `INSERT INTO warehouse.time_entries (account_id, job_number, employee_id, started_on,
        number_of_hours)
       VALUES ($1, 11, 501, '2027-02-01 08:00-05', 2.25)`,
    ],
  },
  {
    ask: {
      table: 'time_entries',
      operation: 'update',
      number: 91,
      fields: {number_of_hours: '1.75'},
    },
    sql: [
      `UPDATE warehouse.time_entries SET number_of_hours = 1.75 WHERE account_id = $1 AND id = 91`,
    ],
  },
  {
    ask: {table: 'time_entries', operation: 'delete', number: 91},
    sql: ['DELETE FROM warehouse.time_entries WHERE account_id = $1 AND id = 91'],
  },
  {
    ask: {
      table: 'job_charges',
      operation: 'create',
      parent: {number: 11},
      fields: {item_id: '7', details: 'Nails', quantity: '100', price_per_unit: '0.10'},
    },
    sql: [
      `INSERT INTO warehouse.job_charges (account_id, job_number, item_id, details, quantity,
        price_per_unit)
       VALUES ($1, 11, 7, 'Nails', 100, 0.10)`,
    ],
  },
  {
    ask: {table: 'job_charges', operation: 'update', number: 95, fields: {quantity: 3}},
    sql: ['UPDATE warehouse.job_charges SET quantity = 3 WHERE account_id = $1 AND id = 95'],
  },
  {
    ask: {table: 'job_charges', operation: 'delete', number: 95},
    sql: ['DELETE FROM warehouse.job_charges WHERE account_id = $1 AND id = 95'],
  },
  {
    ask: {table: 'employees', operation: 'create', fields: {name: 'Cid'}},
    sql: [`INSERT INTO warehouse.employees (account_id, name) VALUES ($1, 'Cid')`],
  },
  {
    ask: {table: 'employees', operation: 'update', number: 1, fields: {name: 'Anne'}},
    sql: [
      `UPDATE warehouse.employees SET name = 'Anne' WHERE account_id = $1 AND employee_number = 1`,
    ],
  },
  {
    ask: {table: 'employees', operation: 'delete', number: 1},
    sql: ['DELETE FROM warehouse.employees WHERE account_id = $1 AND employee_number = 1'],
  },
  {
    ask: {
      table: 'tasks',
      operation: 'create',
      fields: {name: 'Buy', scheduled_at: '2027-05-01T10:00:00Z'},
    },
    sql: [
      `INSERT INTO warehouse.tasks (account_id, name, scheduled_at)
        VALUES ($1, 'Buy', '2027-05-01 10:00Z')`,
    ],
  },
  {
    ask: {table: 'tasks', operation: 'update', number: 61, fields: {completed: true}},
    sql: ['UPDATE warehouse.tasks SET completed = true WHERE account_id = $1 AND id = 61'],
  },
  {
    ask: {table: 'tasks', operation: 'delete', number: 61},
    sql: ['DELETE FROM warehouse.tasks WHERE account_id = $1 AND id = 61'],
  },
];
