// A process that writes so many rows of the star's widest fact as Parquet, and tells its peak
// memory, and the seconds of CPU that it and its session of Postgres took.

import {createWriteStream} from 'node:fs';
import {openPool} from '../../src/postgres/database.ts';
import {writeParquet} from '../../src/star/parquet.ts';
import {clockOf} from '../../test/support/cpu.ts';

const [databaseUrl = '', rows = ''] = process.argv.slice(2);
const pool = openPool(databaseUrl, {max: 1, applicationName: 'bench', statementTimeoutMs: 0});
const client = await pool.connect();
const out = createWriteStream('/dev/null');
let bytes = 0;
// The jobs again and again, until there are enough; each time all of them, in their order.
await client.query(
  `CREATE TEMPORARY TABLE many AS
     SELECT row_number() OVER (ORDER BY again, job_key) AS row, job.*
       FROM generate_series(1, ${Number(rows)} / (SELECT count(*) FROM mart.fct_job) + 1) AS again
      CROSS JOIN mart.fct_job AS job ORDER BY again, job_key LIMIT ${Number(rows)}`,
);
const session = await client.query<{pid: number}>('SELECT pg_backend_pid() AS pid');
const clock = clockOf(session.rows[0]?.pid ?? 0);
const startedAt = clock();
await client.query('BEGIN READ ONLY');
const {rows: written} = await writeParquet(client, 'SELECT * FROM many', (part) => {
  bytes += part.length;
  return new Promise((resolve) => out.write(part, () => resolve()));
});
const postgresSeconds = clock() - startedAt;
await client.query('ROLLBACK');
client.release();
await pool.end();
const {maxRSS, userCPUTime, systemCPUTime} = process.resourceUsage();
process.send?.({
  ...{written, bytes, peakMb: Math.round(maxRSS / 1024)},
  ...{cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, postgresSeconds},
});
process.disconnect();
