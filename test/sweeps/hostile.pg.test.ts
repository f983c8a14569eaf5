// The effect of a service, or of a server between, that does not behave.

import {afterEach, expect, test} from 'vitest';
import {job, list, type ScriptedService, scriptService} from '../support/scripted-service.ts';
import {openWorld, type TestWorld} from '../support/world.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function open(
  answer: Parameters<typeof scriptService>[0],
): Promise<{service: ScriptedService; world: TestWorld}> {
  // This service knows no single records.
  const service = await scriptService((request, response) =>
    /\d\.xml/.test(request.url ?? '') ? false : answer(request, response),
  );
  closers.push(service.close);
  const world = await openWorld(service);
  closers.push(world.close);
  return {service, world};
}

async function numbersOf(world: TestWorld): Promise<string[]> {
  const {rows} = await world.pool.query(
    'SELECT job_number FROM warehouse.jobs WHERE _deleted_at IS NULL ORDER BY 1',
  );
  return rows.map((row) => String(row.job_number));
}

test('a record that cannot be read is quarantined without its secrets', async () => {
  const bad = job(2, '<subtotal type="decimal">a lot</subtotal><api-token>canary</api-token>');
  const {world} = await open(({page}, response) => {
    if (page === 1) response.end(list('jobs', [job(1), bad, job(3)]));
    return page === 1;
  });
  expect(await world.sweep('jobs')).toMatchObject({
    outcome: 'ended',
    counts: {records: 2, quarantined: 1},
  });
  expect(await numbersOf(world)).toEqual(['1', '3']);
  const {rows} = await world.pool.query('SELECT reason, xml FROM sync.quarantine');
  expect(rows).toHaveLength(1);
  expect(rows[0].reason).toContain('subtotal');
  expect(rows[0].xml).toContain('<job-number type="integer">2</job-number>');
  expect(rows[0].xml).not.toContain('canary');
});

test('quarantine keeps what was expected of a record, without the value received', async () => {
  const {world} = await open(({page}, response) => {
    if (page === 1) response.end(list('jobs', [job(2, '<subtotal>a lot</subtotal>')]));
    return page === 1;
  });
  await world.sweep('jobs');
  const {rows} = await world.pool.query('SELECT reason, expected FROM sync.quarantine');
  expect(rows).toEqual([
    {
      reason: expect.stringMatching(/^jobs 2: field subtotal: expected .*, got "a lot"$/),
      expected: expect.stringMatching(/^jobs 2: field subtotal: expected (?!.*a lot)/),
    },
  ]);
});

test('a window with a record that cannot be read ends uncertified, with the reason', async () => {
  const {world} = await open(({page}, response) => {
    if (page === 1)
      response.end(list('jobs', [job(1), job(2, '<subtotal type="decimal">a lot</subtotal>')]));
    return page === 1;
  });
  expect(await world.sweep('jobs', {windowName: 'today'})).toMatchObject({state: 'uncertified'});
  const {rows} = await world.pool.query('SELECT reasons FROM sync.sweeps');
  expect(rows[0].reasons).toEqual([
    '1 records of jobs could not be read or taken: fieldmirror quarantine list',
  ]);
});

test('a record quarantined twice is one entry, which is closed when it can be read', async () => {
  let isMended = false;
  const {world} = await open(({page}, response) => {
    const second = isMended
      ? job(2)
      : job(2, '<job-type-id type="integer">99999999999999999999</job-type-id>');
    if (page === 1) response.end(list('jobs', [job(1), second]));
    return page === 1;
  });
  await world.sweep('jobs');
  await world.sweep('jobs');
  const open_ = 'SELECT number FROM sync.quarantine WHERE resolved_at IS NULL';
  expect((await world.pool.query(open_)).rows).toEqual([{number: '2'}]);
  isMended = true;
  await world.sweep('jobs');
  expect((await world.pool.query(open_)).rows).toEqual([]);
  expect(await numbersOf(world)).toEqual(['1', '2']);
});

test('one byte that is not UTF-8 quarantines only its own record, in every pass', async () => {
  const withByte = (text: string) => {
    const [before = '', after = ''] = text.split('BROKEN');
    return Buffer.concat([Buffer.from(before), Buffer.from([0xff]), Buffer.from(after)]);
  };
  const bad = job(2, '<po-number>BROKEN</po-number>');
  const service = await scriptService((request, response) => {
    if (request.url?.startsWith('/jobs/2.xml') === true) response.end(withByte(bad));
    else if (request.url?.startsWith('/jobs.xml') === true && request.page === 1)
      response.end(withByte(list('jobs', [job(1), bad, job(3)])));
    else return false;
    return true;
  });
  closers.push(service.close);
  const world = await openWorld(service);
  closers.push(world.close);
  const result = await world.sweep('jobs');
  expect(result).toMatchObject({outcome: 'ended', state: 'uncertified'});
  expect(await numbersOf(world)).toEqual(['1', '3']);
  const {rows} = await world.pool.query(
    'SELECT number FROM sync.quarantine WHERE resolved_at IS NULL',
  );
  expect(rows).toEqual([{number: '2'}]);
});

/** As many records as are committed at once. */
const wholeBatch = Array.from({length: 1_000}, (_, at) => job(1000 + at));

test.each([
  ['an HTML page', '<html><body>Please log in</body></html>'],
  ['an empty body', ''],
  ['a list that is cut short', list('jobs', [job(2), job(3)]).slice(0, -20)],
  [
    'a list of something else',
    list('customers', ['<customer><customer-number>1</customer-number></customer>']),
  ],
])(
  '%s in the middle of a list does not end it: the sweep is postponed, and read rows stay',
  async (_, body) => {
    const {world} = await open(({page}, response) => {
      response.end(
        page === 1 ? list('jobs', wholeBatch) : page === 2 ? body : list('jobs', [job(page)]),
      );
      return true;
    });
    const result = await world.sweep('jobs');
    expect(result.outcome).toBe('postponed');
    expect(await numbersOf(world)).toHaveLength(1_000);
    const {rows} = await world.pool.query('SELECT state, next_page, error FROM sync.sweeps');
    expect(rows[0]).toMatchObject({
      state: 'due',
      next_page: 2,
      error: expect.stringMatching(/jobs/),
    });
  },
);

test.each([
  ['a document type', `<!DOCTYPE x [<!ENTITY a "b">]>${list('jobs', [job(2)])}`, /a DOCTYPE/],
  [
    'elements nested too deep',
    list('jobs', [job(2, `${'<a>'.repeat(30)}${'</a>'.repeat(30)}`)]),
    /nested deeper than 20/,
  ],
  ['a blank line before the declaration', `\n${list('jobs', [job(2)])}`, /before <\?xml/],
  ['an unsupported encoding', list('jobs', [job(2)]).replace('UTF-8', 'EBCDIC-US'), /ebcdic-us/],
])('%s fails the sweep at once, without a retry', async (_, body, words) => {
  const {world} = await open(({page}, response) => {
    response.setHeader('content-type', 'application/xml');
    response.end(page === 1 ? list('jobs', wholeBatch) : body);
    return true;
  });
  const result = await world.sweep('jobs');
  expect(result).toMatchObject({
    outcome: 'failed',
    error: {name: 'FatalError', message: expect.stringMatching(words)},
  });
  expect(await numbersOf(world)).toHaveLength(1_000);
});

test.each([
  ['xsi:nil', '<po-number xsi:nil="true"/>'],
  [
    'declared in the element',
    '<po-number i:nil="1" xmlns:i="http://www.w3.org/2001/XMLSchema-instance"></po-number>',
  ],
  ['nil', '<po-number nil="true"/>'],
])('%s is NULL, in a list and in a record', async (_, element) => {
  const service = await scriptService(({url = '', page}, response) => {
    if (url.startsWith('/jobs/2.xml')) response.end(job(2, element));
    else if (page === 1 && url.startsWith('/jobs.xml'))
      response.end(list('jobs', [job(1, element), job(3, element)]));
    else return false;
    return true;
  });
  closers.push(service.close);
  const world = await openWorld(service);
  closers.push(world.close);
  expect(await world.sweep('jobs')).toMatchObject({state: 'certified'});
  const {rows} = await world.pool.query(
    'SELECT job_number::int AS number, po_number FROM warehouse.jobs ORDER BY 1',
  );
  expect(rows).toEqual([1, 2, 3].map((number) => ({number, po_number: null})));
});

test('an empty 404 answer labelled gzip is read as a missing record', async () => {
  const service = await scriptService(({url = '', page}, response) => {
    if (/\/jobs\/\d+\.xml/.test(url)) response.writeHead(404, {'content-encoding': 'gzip'}).end();
    else if (page === 1 && url.startsWith('/jobs.xml'))
      response.end(list('jobs', [job(1), job(3)]));
    else return false;
    return true;
  });
  closers.push(service.close);
  const world = await openWorld(service);
  closers.push(world.close);
  expect(await world.sweep('jobs')).toMatchObject({outcome: 'ended', state: 'certified'});
});

test('a sweep continues after a temporary failure, and reads all records', async () => {
  let isDown = true;
  const pages: number[] = [];
  const {world} = await open(({page}, response) => {
    if (page === 2 && isDown) {
      response.writeHead(503).end();
      return true;
    }
    pages.push(page);
    response.end(list('jobs', page === 1 ? wholeBatch : page === 2 ? [job(2)] : []));
    return true;
  });
  await world.sweep('jobs');
  isDown = false;
  pages.length = 0;
  await world.pool.query(`UPDATE sync.sweeps SET due_at = now() WHERE state = 'due'`);
  await world.sweep('jobs');
  expect(await numbersOf(world)).toHaveLength(1_001);
});

test('a last page that repeats for ever ends the list', async () => {
  const {world} = await open((_, response) => {
    response.end(list('jobs', [job(1), job(2)]));
    return true;
  });
  expect(await world.sweep('jobs')).toMatchObject({outcome: 'ended', counts: {records: 2}});
});

test('a record on two pages is one row, with the values that were read later', async () => {
  const {world} = await open(({page}, response) => {
    if (page <= 2) response.end(list('jobs', [job(7, `<description>${page}</description>`)]));
    return page <= 2;
  });
  await world.sweep('jobs');
  const {rows} = await world.pool.query('SELECT description FROM warehouse.jobs');
  expect(rows).toEqual([{description: '2'}]);
});

test('a refused token fails the sweep at once, and the error names the token', async () => {
  let requests = 0;
  const {world} = await open((_, response) => {
    requests++;
    response.writeHead(401).end('HTTP Basic: Access denied.\n');
    return true;
  });
  const result = await world.sweep('tasks');
  expect(result).toMatchObject({
    outcome: 'failed',
    error: {name: 'AccessError', message: expect.stringContaining('token')},
  });
  // Pages in flight may each have sent one request; none sent another.
  expect(requests).toBeLessThanOrEqual(4);
});

test('an unknown field is kept under its own name', async () => {
  const {world} = await open(({page}, response) => {
    if (page === 1)
      response.end(list('jobs', [job(1, '<brand-new-field>275.10</brand-new-field>')]));
    return page === 1;
  });
  await world.sweep('jobs');
  const {rows} = await world.pool.query('SELECT extra FROM warehouse.jobs');
  expect(rows[0].extra).toEqual({brand_new_field: '275.10'});
});
