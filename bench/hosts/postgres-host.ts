// A Postgres that every host of its network may reach, in the namespace of this process. It prints
// its address as the host itself has it, and lasts until standard input ends.

import {appendFile} from 'node:fs/promises';
import {join} from 'node:path';
import {findPrograms, programRunner} from '../../src/postgres/embedded-server.ts';
import {startPostgres} from '../../test/support/own-postgres.ts';
import {SetUp} from '../../test/support/set-up.ts';
import {hostNetwork} from './network.ts';

const {home, postgres} = await startPostgres(new SetUp(), 'hosts');
const url = new URL(await postgres.url('postgres'));
const folder = join(home, 'postgres');
const {pg_ctl} = await findPrograms();
const runner = await programRunner(home);
await appendFile(join(folder, 'pg_hba.conf'), `host all all ${hostNetwork} scram-sha-256\n`);
await runner.run(pg_ctl, ['stop', '-D', folder, '-w', '-m', 'fast']);
const settings = [
  `port=${url.port}`,
  'listen_addresses=*',
  "unix_socket_directories=''",
  'max_connections=200',
  'shared_buffers=256MB',
];
const options = settings.map((setting) => `-c ${setting}`).join(' ');
await runner.run(pg_ctl, [
  'start',
  ...['-D', folder, '-w', '-l', join(folder, 'postgres.log'), '-o', options],
]);
process.stdout.write(`${JSON.stringify({url: url.href})}\n`);
// The end of the process ends Postgres, and removes its folder.
process.stdin.resume();
