import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {column, field, openSandbox, type Sandbox, within} from './sandbox.ts';

/** Each window's first and last day, seen from Monday 2 November 2026; a week starts on Sunday. */
const windows: readonly (readonly [name: string, first: string, last: string])[] = [
  ['today', '11/2/2026', '11/2/2026'],
  ['tomorrow', '11/3/2026', '11/3/2026'],
  // The clocks went back on this day: it has 25 hours.
  ['yesterday', '11/1/2026', '11/1/2026'],
  ['this_week', '11/1/2026', '11/7/2026'],
  ['next_week', '11/8/2026', '11/14/2026'],
  ['last_week', '10/25/2026', '10/31/2026'],
  ['this_month', '11/1/2026', '11/30/2026'],
  ['next_month', '12/1/2026', '12/31/2026'],
  ['last_month', '10/1/2026', '10/31/2026'],
];

const neighbour = (date: string, days: number) => {
  const [month = 1, day = 1, year = 2026] = date.split('/').map(Number);
  const moved = new Date(Date.UTC(year, month - 1, day + days));
  return `${moved.getUTCMonth() + 1}/${moved.getUTCDate()}/${moved.getUTCFullYear()}`;
};

describe.each(['America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia'])(
  'windows in %s',
  (timeZone) => {
    let sandbox: Sandbox;

    beforeAll(async () => {
      // Each zone's offset on 2 November, ten in the morning there.
      const offsets: Readonly<Record<string, number>> = {
        'America/New_York': -5,
        'Australia/Lord_Howe': 11,
        'Pacific/Apia': 13,
      };
      const now = Date.UTC(2026, 10, 2, 10 - (offsets[timeZone] ?? 0));
      sandbox = await openSandbox({isEmpty: true, timeZone, now: () => now});
    });
    afterAll(() => sandbox.close());

    test.each(windows)(
      'scheduled=%s lists the jobs from its first to its last minute',
      async (name, first, last) => {
        const customer = await sandbox.send(
          'POST',
          '/customers.xml',
          '<customer><name>c</name></customer>',
        );
        const jobs = `/customers/${field(customer, 'customer_number')}/jobs.xml`;
        const add = (title: string, at: string) =>
          sandbox.send(
            'POST',
            jobs,
            `<job><name>${title}</name><scheduled_on>${at}</scheduled_on></job>`,
          );
        await add('before', `${neighbour(first, -1)} 11:59pm`);
        await add('first', `${first} 12:00am`);
        await add('last', `${last} 11:59pm`);
        await add('after', `${neighbour(last, 1)} 12:00am`);
        await sandbox.send('POST', jobs, '<job><name>unscheduled</name></job>');
        expect(column((await sandbox.get(`${jobs}?scheduled=${name}`)).root, 'name')).toEqual([
          'first',
          'last',
        ]);
        expect(column((await sandbox.get(jobs)).root, 'name')).toHaveLength(5);
      },
    );

    test.each(windows)(
      'scheduled_at=%s lists the tasks from its first to its last minute',
      async (name, first, last) => {
        const add = (title: string, at: string) =>
          sandbox.send(
            'POST',
            '/tasks.xml',
            `<task><name>${name} ${title}</name><scheduled_at>${at}</scheduled_at></task>`,
          );
        await add('before', `${neighbour(first, -1)} 11:59pm`);
        await add('first', `${first} 12:00am`);
        await add('last', `${last} 11:59pm`);
        await add('after', `${neighbour(last, 1)} 12:00am`);
        const found = column((await sandbox.get(`/tasks.xml?scheduled_at=${name}`)).root, 'name');
        expect(found).toEqual(expect.arrayContaining([`${name} first`, `${name} last`]));
        expect(found).not.toContain(`${name} before`);
        expect(found).not.toContain(`${name} after`);
      },
    );

    test('a write to a job shows in the next list, also in a filtered one', async () => {
      const customer = await sandbox.send(
        'POST',
        '/customers.xml',
        '<customer><name>w</name></customer>',
      );
      const jobs = `/customers/${field(customer, 'customer_number')}/jobs.xml`;
      const today = async () => (await sandbox.get(`${jobs}?scheduled=today`)).root.elements.length;
      const job = await sandbox.send('POST', jobs, '<job><name>w</name></job>');
      expect(await today()).toBe(0);
      const path = `/jobs/${field(job, 'job_number')}.xml`;
      await sandbox.send('PUT', path, '<job><scheduled_on>11/2/26 02:00pm</scheduled_on></job>');
      expect(await today()).toBe(1);
      await sandbox.send('PUT', path, '<job><scheduled_on>11/3/26 02:00pm</scheduled_on></job>');
      expect(await today()).toBe(0);
      expect(
        within(
          (await sandbox.get(`/customers/${field(customer, 'customer_number')}.xml?include=jobs`))
            .root,
          'jobs',
        ).elements,
      ).toHaveLength(1);
    });
  },
);
