// The service changes its format: no value is lost, and a user can read the change.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {makeJobPage} from '../api/job-page.ts';
import {job, list, type ScriptedService, scriptService} from '../support/scripted-service.ts';
import {openService, openWorld, type TestWorld} from '../support/world.ts';

let service: ScriptedService;
let world: TestWorld;
/** The only page of jobs that is not empty. */
let page: string | Buffer;

beforeEach(async () => {
  page = list('jobs', []);
  service = await scriptService((request, response) => {
    if (!request.url?.startsWith('/jobs.xml') || request.page !== 1) return false;
    response.end(page);
    return true;
  });
  world = await openWorld(service);
});

afterEach(async () => {
  await world.close();
  await service.close();
});

/**
 * Sweeps jobs with some more fields in each; `count` makes their bytes differ from earlier ones.
 */
async function sweepJobs(...more: readonly string[]): Promise<void> {
  page = list(
    'jobs',
    more.map((fields, at) => job(at + 1, fields)),
  );
  await sweep();
}

async function sweep(): Promise<void> {
  expect(await world.sweep('jobs')).toMatchObject({outcome: 'ended', state: 'certified'});
}

async function events(): Promise<string[]> {
  const {rows} = await world.pool.query('SELECT * FROM sync.field_events ORDER BY event_id');
  return rows.map(
    ({table_name, field, kind, detail}) => `${table_name}.${field} ${kind}: ${detail}`,
  );
}

async function field(name: string) {
  const {rows} = await world.pool.query('SELECT * FROM sync.fields WHERE field = $1', [name]);
  return rows[0];
}

async function extra(): Promise<unknown[]> {
  const {rows} = await world.pool.query('SELECT extra FROM warehouse.jobs ORDER BY job_number');
  return rows.map((row) => row.extra);
}

const colour = '<colour>red</colour>';
const size = '<size type="integer">5</size>';

describe('a field', () => {
  test('in the first sweep is listed, and is not reported as new', async () => {
    await sweepJobs(colour, colour);
    expect(await field('colour')).toMatchObject({
      table_name: 'jobs',
      types: ['text'],
      column_name: null,
      filled_share: 1,
    });
    expect(await field('job_number')).toMatchObject({
      types: ['integer'],
      column_name: 'job_number',
      filled_share: 1,
    });
    expect(await events()).toEqual([]);
  });

  test('that appears is reported as new, and its values are kept', async () => {
    await sweepJobs(colour, colour);
    await sweepJobs(colour, colour + size);
    expect(await events()).toEqual(['jobs.size new: sent as integer; kept in extra']);
    expect(await field('size')).toMatchObject({filled_share: 0.5});
    expect(await extra()).toEqual([{colour: 'red'}, {colour: 'red', size: '5'}]);
  });

  test('that appears in a window is reported as new as well', async () => {
    await sweepJobs(colour);
    page = list('jobs', [job(1, colour + size)]);
    await world.sweep('jobs', {windowName: 'today'});
    expect(await events()).toEqual(['jobs.size new: sent as integer; kept in extra']);
  });

  test('that is removed is reported as vanished, and as returned when it is back', async () => {
    await sweepJobs(colour + size, colour + size);
    await sweepJobs(colour, colour);
    await sweepJobs(colour + size, colour + size);
    expect(await events()).toEqual([
      expect.stringContaining('jobs.size vanished: '),
      expect.stringContaining('jobs.size returned: '),
    ]);
  });

  test('that only some records lose is not reported as vanished', async () => {
    await sweepJobs(colour + size, colour + size);
    await sweepJobs(colour, `<colour>blue</colour>${size}`);
    expect(await events()).toEqual([]);
    expect(await field('size')).toMatchObject({vanished_at: null, filled_share: 0.5});
  });

  test('that only an unchanged record has is not reported as vanished', async () => {
    await sweepJobs(colour + size, colour);
    await sweepJobs(colour + size, `${colour}<name2>x</name2>`);
    expect(await events()).toEqual(['jobs.name2 new: sent as text; kept in extra']);
  });

  test('whose type flips from row to row loses no value, and is reported once', async () => {
    await sweepJobs(size, size);
    for (let round = 0; round < 3; round++)
      await sweepJobs(`<size type="float">5.${round}</size>`, `<size>${round} feet</size>`);
    expect(await events()).toEqual(['jobs.size retyped: sent as text, float; before as integer']);
    expect(await extra()).toEqual([{size: '5.2'}, {size: '2 feet'}]);
    expect(await field('size')).toMatchObject({types: ['integer', 'text', 'float']});
  });

  test('that is a secret is listed by its name, and its value is not kept', async () => {
    await sweepJobs('<api-token>hunter2</api-token>');
    expect(await field('api_token')).toMatchObject({
      types: ['secret'],
      column_name: null,
      filled_share: null,
    });
    const {rows} = await world.pool.query(
      'SELECT string_agg(row::text, $1) AS all FROM sync.fields AS row',
      [''],
    );
    expect(rows[0].all).not.toContain('hunter2');
    expect(await extra()).toEqual([{}]);
  });

  test('can be promoted as soon as it is seen', async () => {
    await sweepJobs(size);
    await world.pool.query(
      `UPDATE sync.fields SET promoted_as = 'feet' WHERE table_name = 'jobs' AND field = 'size'`,
    );
    await sweepJobs('<size type="integer">7</size>');
    expect((await world.pool.query('SELECT feet FROM mart.jobs')).rows).toEqual([{feet: '7'}]);
  });
});

test('the same records in another dialect are not reported as a change of fields', async () => {
  page = makeJobPage({jobs: 3});
  await sweep();
  const types = async () =>
    (await world.pool.query('SELECT field, types FROM sync.fields ORDER BY 1, 2')).rows;
  const before = await types();
  page = makeJobPage({jobs: 3, dialect: 'documented'});
  await sweep();
  page = makeJobPage({jobs: 3});
  await sweep();
  expect(await events()).toEqual([]);
  expect(await types()).toEqual(before);
});

test('a sweep of an unchanged service writes no field', async () => {
  page = makeJobPage({jobs: 3});
  await sweep();
  const last = async () =>
    (await world.pool.query('SELECT max(xmin::text::bigint) FROM sync.fields')).rows[0];
  const before = await last();
  await sweep();
  expect(await last()).toEqual(before);
});

test('every field that an account keeps in extra is listed under its table', async () => {
  const real = await openService();
  const mirror = await openWorld(real);
  try {
    await mirror.sweepAll();
    const {rows} = await mirror.pool.query(
      `SELECT field.table_name, count(*) FILTER (WHERE field.column_name IS NULL)::int AS kept
         FROM sync.fields AS field GROUP BY 1 ORDER BY 1`,
    );
    const kept = Object.fromEntries(rows.map((row) => [row.table_name, row.kept]));
    expect(kept).toMatchObject({
      customers: expect.any(Number),
      jobs: expect.any(Number),
      tasks: expect.any(Number),
    });
    for (const table of ['customers', 'jobs', 'tasks', 'employees']) {
      const {rows: unlisted} = await mirror.pool.query(
        `SELECT DISTINCT key FROM warehouse.${table}, jsonb_object_keys(extra) AS key
         EXCEPT SELECT field FROM sync.fields WHERE table_name = $1`,
        [table],
      );
      expect(unlisted, table).toEqual([]);
    }
  } finally {
    await mirror.close();
    await real.close();
  }
});
