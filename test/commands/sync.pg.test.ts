// The verb `sync`, asked for less than a whole stream.

import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';

let place: Place;

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
});

afterAll(() => place.close());

const sync = async (...args: string[]) => await runCommand(['sync', ...args], place.env);

describe('one record by its number', () => {
  test('a number that the service does not have is an answer: exit code 0, and a sentence', async () => {
    const ended = await sync('jobs', '--record', '2000000');
    expect(ended.stderr).not.toContain('fail');
    expect(ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(
        'jobs: the service has no job 2000000 (400 "Invalid job."), and no row of it is held here',
      ),
    });
  });

  test('with --json it is a field of its own, and the sweep shows it as evidence', async () => {
    const ended = await sync('jobs', '--record', '2000000', '--json');
    expect(JSON.parse(ended.stdout)).toMatchObject({
      streams: [
        {state: 'certified', records: 0, reasons: [], absent: expect.stringContaining('no job 2000000')},
      ],
    });
    const listed = await runCommand(['sweeps', 'list', '--json', '--limit', '1'], place.env);
    const [{sweepId}] = JSON.parse(listed.stdout).sweeps;
    const shown = await runCommand(['sweeps', 'show', sweepId], place.env);
    expect(shown.stdout).toContain('the service has none of that number: 400 "Invalid job."');
  });
});
