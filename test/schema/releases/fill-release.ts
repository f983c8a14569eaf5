// Fills an empty database with a warehouse as this version makes it, and with a little of all that
// a user may have in one, by the verbs that users call: make-release.sh dumps it.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import pg from 'pg';
import {account, sealingKey, serveBusiness} from './business.ts';

const [warehouseUrl = '', serviceUrl = ''] = process.argv.slice(2);
const main = join(import.meta.dirname, '..', '..', '..', 'src', 'main.ts');

/** Two customers of the business: one is edited, the other forgotten. */
const edited = 3;
const forgotten = 5;

const env = {
  PATH: process.env.PATH,
  FIELDMIRROR_ENV_FILE: '/dev/null',
  FIELDMIRROR_KEY: sealingKey,
  DATABASE_URL: warehouseUrl,
};
const service = await serveBusiness(serviceUrl);
const warehouse = new pg.Client({connectionString: warehouseUrl});
await warehouse.connect();

await run(
  ['accounts', 'add', account.name, '--url', service.url, '--time-zone', account.timeZone],
  service.token,
);
await run(['start', '--once']);
// Done, held, waiting, and a row that exists here alone.
await warehouse.query(
  `UPDATE warehouse.customers SET phone_number = '555-0142' WHERE customer_number = ${edited}`,
);
await run(['push']);
await warehouse.query(`SET fieldmirror.mode = 'hold'`);
await warehouse.query(
  `UPDATE warehouse.customers SET fax = '555-0143' WHERE customer_number = ${edited}`,
);
await warehouse.query('RESET fieldmirror.mode');
await warehouse.query(`SET fieldmirror.batch = 'import 4711'`);
await warehouse.query(
  `INSERT INTO warehouse.customers (name, external_key)
    VALUES ('Made-up Plumbing of Nowhere', 'erp-4711')`,
);
await warehouse.query(
  `UPDATE warehouse.jobs SET name = 'renamed here'
    WHERE job_number = (SELECT min(job_number) FROM warehouse.jobs
    WHERE customer_number <> ${forgotten})`,
);
await warehouse.query(
  `UPDATE sync.fields SET promoted_as = 'warranty_until'
    WHERE table_name = 'jobs' AND field = 'custom_datetime1'`,
);
await warehouse.query(
  `CREATE SCHEMA reports; CREATE VIEW reports.open_jobs AS SELECT job_number, name, warranty_until
    FROM mart.jobs WHERE completed_on IS NULL`,
);
const {rows} = await warehouse.query<{name: string}>(
  `SELECT name FROM warehouse.customers WHERE customer_number = ${forgotten}`,
);
await run(['forget', 'customers', String(forgotten)], rows[0]?.name);
await run(['keys', 'add', 'erp', '--role', 'operator']);
await run(['hooks', 'add', 'erp', '--url', 'https://erp.example.com/feed']);

await warehouse.end();
await service.close();

async function run(args: readonly string[], typed = ''): Promise<void> {
  // The service answers in this process meanwhile.
  const child = spawn(process.execPath, [main, ...args], {
    env,
    stdio: ['pipe', 'inherit', 'inherit'],
  });
  child.stdin.end(`${typed}\n`);
  const [code] = await once(child, 'exit');
  // 1: a change needs a person.
  if (code > 1) throw new Error(`${args.join(' ')}: exit code ${code}`);
}
