// A process that starts a Postgres of its own, says where, and waits for a signal.

import {startPostgres} from './own-postgres.ts';
import {SetUp} from './set-up.ts';

const {home, postgres} = await startPostgres(new SetUp(), 'held');
process.stdout.write(`${JSON.stringify({home, url: await postgres.url('postgres')})}\n`);
setInterval(() => {}, 1_000_000);
