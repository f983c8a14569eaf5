// A session in the middle of a COPY, with the locks of all accounts, that stays there until it is
// cut off.

import {once} from 'node:events';
import {from} from 'pg-copy-streams';
import {inTransaction, openPool} from '../../src/postgres/database.ts';

const [databaseUrl = ''] = process.argv.slice(2);
const pool = openPool(databaseUrl, {max: 1, applicationName: 'bench copies'});
await inTransaction(pool, async (client) => {
  await client.query('SELECT FROM sync.accounts FOR UPDATE');
  await client.query('CREATE TEMP TABLE copied (number int)');
  const copy = client.query(from('COPY pg_temp.copied FROM STDIN'));
  copy.write('1\n');
  await once(copy, 'finish');
});
