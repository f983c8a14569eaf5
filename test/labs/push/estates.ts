import type pg from 'pg';
import type {Estate} from './author.ts';

/** A customer, its job, the job's records, and a task. */
export async function readEstates(pool: pg.Pool): Promise<Estate[]> {
  const employees = await pool.query<{id: string}>(
    'SELECT id FROM warehouse.employees WHERE active ORDER BY id LIMIT 4',
  );
  const employeeIds = employees.rows.map(({id}) => id);
  const {rows} = await pool.query<Record<'customer' | 'job' | 'note' | 'task', string | null>>(
    `SELECT customer.row_id AS customer, job.row_id AS job, note.row_id AS note, task.row_id AS task
       FROM (SELECT *, row_number() OVER (ORDER BY customer_number) AS at FROM warehouse.customers)
         AS customer
       LEFT JOIN LATERAL (SELECT * FROM warehouse.jobs
         WHERE jobs.customer_number = customer.customer_number
                             AND NOT EXISTS (SELECT FROM warehouse.job_employees
                               WHERE job_employees.job_number = jobs.job_number)
                           ORDER BY job_number LIMIT 1) AS job ON true
       LEFT JOIN LATERAL (SELECT * FROM warehouse.job_notes
         WHERE job_notes.job_number = job.job_number ORDER BY id LIMIT 1) AS note ON true
       LEFT JOIN (SELECT *, row_number() OVER (ORDER BY id) AS at FROM warehouse.tasks) AS task
       ON task.at = customer.at
      ORDER BY customer.customer_number`,
  );
  return rows.map(({customer, job, note, task}) => ({
    employeeIds,
    rows: [
      {table: 'customers', rowId: customer},
      {table: 'jobs', rowId: job},
      {table: 'job_notes', rowId: note},
      {table: 'tasks', rowId: task},
    ].flatMap(({table, rowId}) => (rowId === null ? [] : [{table, rowId}])),
  }));
}
