// The primary dies in the middle of sweeps and changes, and its standby is promoted: each change
// has one effect, and nothing that was confirmed is lost.

import {afterEach, expect, test} from 'vitest';
import {createLogger} from '../../src/core/log.ts';
import {expectMirrored} from '../support/expect-mirrored.ts';
import {holdSweep} from '../support/held-sweep.ts';
import {migrateWarehouse, startPostgres} from '../support/own-postgres.ts';
import {SetUp} from '../support/set-up.ts';
import {type Standby, startStandby} from '../support/standby.ts';
import {openTcpSwitch, type TcpSwitch} from '../support/tcp-switch.ts';
import {openWork, type WorkUnderWay} from '../support/work-under-way.ts';

const setUp = new SetUp();
let standby: Standby;
/** The one address of both servers. */
let line: TcpSwitch;
let work: WorkUnderWay;

afterEach(() => setUp.end());

async function open(): Promise<void> {
  const primary = await startPostgres(setUp, 'primary');
  const url = new URL(await primary.postgres.url('warehouse'));
  await migrateWarehouse(url.href);
  standby = await startStandby(setUp, primary);
  line = await setUp.step(
    'opening the switch',
    () => openTcpSwitch(Number(url.port)),
    (opened) => opened.close(),
  );
  url.port = String(line.port);
  work = await setUp.step(
    'opening the work',
    () => openWork({url: url.href, drop: async () => {}}),
    (opened) => opened.close(),
  );
}

test('in a failover each change has one effect, sweeps continue, the log requests promotion', {
  timeout: 180_000,
}, async () => {
  await open();
  const {world, service} = work;
  await work.askForSweeps();
  const {onSweepStep, held, letGo} = holdSweep();
  const lines: string[] = [];
  const log = createLogger({
    level: 'warn',
    secrets: [],
    destination: {write: (text) => lines.push(text)},
  });
  await work.work(null, {log, onSweepStep});
  await held;
  await work.begin();

  await standby.killPrimary();
  line.turnTo(standby.port);
  letGo();
  await expect
    .poll(() => lines.join(''), {timeout: 30_000})
    .toMatch(
      /it is read-only, most likely a standby; promote it, or point DATABASE_URL at the primary/,
    );
  await expect(world.pool.query(`UPDATE warehouse.customers SET fax = 'lost'`)).rejects.toThrow(
    /read-only/,
  );

  await standby.promote();
  await work.expectEachOnce();
  await work.expectSwept();
  await expectMirrored(world.databaseUrl, service);
});
