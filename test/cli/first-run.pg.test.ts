// A first run makes a Postgres and a business, which takes a while: it says so beforehand.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {startCommand} from '../support/command.ts';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'fieldmirror-first-run-'));
});
afterAll(() => rm(home, {recursive: true, force: true}));

async function runService(): Promise<string> {
  const service = startCommand(['service', '--port', '0', '--customers', '3'], {
    FIELDMIRROR_HOME: home,
  });
  await service.prints(/The reference service answers/);
  // On Ctrl-C there would be a line more.
  service.process.kill('SIGTERM');
  const {code, stderr} = await service.ended;
  expect(code).toBe(0);
  return stderr;
}

test('a first run prints each of its steps, and a second one only starts Postgres', async () => {
  const place = join(home, 'postgres');
  expect(await runService()).toBe(
    [
      `making a separate Postgres in ${place} …`,
      `starting Postgres in ${place} …`,
      'making a business of 3 customers and 18 jobs …\n',
    ].join('\n'),
  );
  expect(await runService()).toBe(`starting Postgres in ${place} …\n`);
});
