// A streaming standby of an embedded Postgres, made from a copy of its data folder: pg_basebackup
// is not brought along.

import {execFileSync} from 'node:child_process';
import {appendFile, rm, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import {
  findPrograms,
  type ProgramRunner,
  programRunner,
} from '../../src/postgres/embedded-server.ts';
import {freePorts} from './free-ports.ts';
import type {OwnPostgres} from './own-postgres.ts';
import type {SetUp} from './set-up.ts';
import {withClient} from './with-client.ts';

export interface Standby {
  readonly port: number;
  /**
   * Ends the primary as a failed machine would: no session is told good-bye, nothing is written any
   * more.
   */
  killPrimary(): Promise<void>;
  promote(): Promise<void>;
}

/** Makes the standby, and lets the primary confirm a COMMIT only when the standby has it too. */
export async function startStandby(setUp: SetUp, {home, postgres}: OwnPostgres): Promise<Standby> {
  const primary = join(home, 'postgres');
  const folder = join(home, 'standby');
  const [port = 0] = await freePorts(1);
  const {pg_ctl} = await findPrograms();
  const runner = await programRunner(home);
  const adminUrl = await postgres.url('postgres');
  await setUp.step('copying the primary', () => copyPrimary(adminUrl, {primary, folder, runner}));
  const options =
    `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' ` +
    '-c max_connections=200';
  const start = ['start', '-D', folder, '-w', '-l', join(folder, 'standby.log'), '-o', options];
  await setUp.step(
    'starting the standby',
    () => runner.run(pg_ctl, start),
    () => runner.run(pg_ctl, ['stop', '-D', folder, '-w', '-m', 'immediate']),
  );
  await setUp.step('waiting for the standby', () => makeSynchronous(adminUrl));
  return {
    port,
    killPrimary: () => runner.run(pg_ctl, ['stop', '-D', primary, '-w', '-m', 'immediate']),
    promote: () => runner.run(pg_ctl, ['promote', '-D', folder, '-w']),
  };
}

async function copyPrimary(
  adminUrl: string,
  {primary, folder, runner}: {primary: string; folder: string; runner: ProgramRunner},
): Promise<void> {
  await withClient(adminUrl, async (client) => {
    await client.query(`SELECT pg_backup_start('standby', true)`);
    execFileSync('cp', ['-a', primary, folder]);
    const {rows} = await client.query<{label: string}>(
      'SELECT labelfile AS label FROM pg_backup_stop()',
    );
    await writeFile(join(folder, 'backup_label'), rows[0]?.label ?? '');
  });
  for (const name of ['postmaster.pid', 'postmaster.opts'])
    await rm(join(folder, name), {force: true});
  await writeFile(join(folder, 'standby.signal'), '');
  for (const name of ['backup_label', 'standby.signal']) await runner.own(join(folder, name));
  const {hostname, port, username, password} = new URL(adminUrl);
  const access = `host=${hostname} port=${port} user=${username} password=${password}`;
  const source = `${access} application_name=standby`;
  await appendFile(join(folder, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`);
}

/** Only once it streams: a COMMIT before would wait for it. */
async function makeSynchronous(adminUrl: string): Promise<void> {
  await withClient(adminUrl, async (client) => {
    const isState = async (column: string, state: string) => {
      const {rows} = await client.query(
        `SELECT FROM pg_stat_replication WHERE ${column} = '${state}'`,
      );
      return rows.length > 0;
    };
    while (!(await isState('state', 'streaming'))) await wait(20);
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await client.query('SELECT pg_reload_conf()');
    while (!(await isState('sync_state', 'sync'))) await wait(20);
  });
}
