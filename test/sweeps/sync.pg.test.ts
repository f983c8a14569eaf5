// The verb `sync` for less than a whole stream.

import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';

let place: Place;

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
});

afterAll(() => place.close());

const sync = async (...args: string[]) => await runCommand(['sync', ...args], place.env);

describe('sync --record', () => {
  test('reports a number that the service does not have, and exits with 0', async () => {
    const ended = await sync('jobs', '--record', '2000000');
    expect(ended.stderr).not.toContain('fail');
    expect(ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        'jobs: the service has no job 2000000 (400 "Invalid job."), and no row of it is held here',
      ),
    });
  });

  test('prints a missing number as a field with --json; sweeps show prints it too', async () => {
    const ended = await sync('jobs', '--record', '2000000', '--json');
    expect(JSON.parse(ended.stdout)).toMatchObject({
      streams: [
        {
          state: 'certified',
          records: 0,
          reasons: [],
          absent: expect.stringContaining('no job 2000000'),
        },
      ],
    });
    const listed = await runCommand(['sweeps', 'list', '--json', '--limit', '1'], place.env);
    const [{sweepId}] = JSON.parse(listed.stdout).sweeps;
    const shown = await runCommand(['sweeps', 'show', sweepId], place.env);
    expect(shown.stdout).toContain('the service has none of that number: 400 "Invalid job."');
  });
});

describe('sync with filters', () => {
  /** The number of jobs that a filter lets through, as the service itself says. */
  const ask = async (query: string): Promise<number> => {
    const {url, token} = place.service;
    const authorization = `Basic ${Buffer.from(`${token}:${token}`).toString('base64')}`;
    for (let page = 1, sum = 0; ; page++) {
      const answer = await fetch(`${url}/jobs.xml?${query}&only=job_number&page=${page}`, {
        headers: {authorization},
      });
      const found = (await answer.text()).split('<job-number').length - 1;
      if (found === 0) return sum;
      sum += found;
    }
  };

  test('applies a window and filters together, and marks no other row deleted', async () => {
    const all = await ask('state=completed');
    let [employee, records] = [0, 0];
    while (records === 0 || records === all)
      records = await ask(`state=completed&employee_number=${++employee}`);
    const filters = ['--filter', `employee_number=${employee}`];
    const ended = await sync('jobs', '--window', 'state=completed', ...filters, '--json');
    expect(JSON.parse(ended.stdout)).toMatchObject({streams: [{state: 'refreshed', records}]});
    const listed = await runCommand(['sweeps', 'list', '--json', '--limit', '1'], place.env);
    const windowName = `state=completed&employee_number=${employee}`;
    expect(JSON.parse(listed.stdout).sweeps).toMatchObject([{mode: 'window', windowName}]);
    // The jobs of another filter are still there.
    const other = await sync('jobs', '--window', 'uncompleted', '--json');
    expect(JSON.parse(other.stdout)).toMatchObject({streams: [{tombstoned: 0}]});
    const again = await sync('jobs', ...filters, '--filter', 'state=completed', '--json');
    expect(JSON.parse(again.stdout)).toMatchObject({
      streams: [{inserted: 0, tombstoned: 0, records}],
    });
  });

  test('accepts a value with spaces, &, + and %', async () => {
    const ended = await sync('customers', '--filter', 'name=Harbor & Sons + 100 %', '--json');
    expect(JSON.parse(ended.stdout)).toMatchObject({streams: [{state: 'refreshed', records: 0}]});
  });

  test.each([
    [
      ['jobs', '--filter', 'employee_nummer=3'],
      'jobs has no filter "employee_nummer" (did you mean employee_number?)',
    ],
    [['jobs', '--window', 'scheduled=nextweek'], '(did you mean next_week?)'],
    [['jobs', '--filter', 'today'], '--filter: expected name=value, got "today"'],
    [['--window', 'today'], 'employees has no window "today"'],
    [
      ['jobs', '--record', '7', '--filter', 'state=completed'],
      '--window and --filter, or --record, got both',
    ],
  ])('%j is refused with exit code 2', async (args, words) => {
    expect(await sync(...args)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining(words),
    });
  });
});
