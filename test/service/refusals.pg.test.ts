// Refused requests, with status and words (docs/service.md "Errors and headers").

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type Call, openSandbox, type Sandbox} from './sandbox.ts';

const customer = (fields: string) => `<customer>${fields}</customer>`;

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

/** The status and the texts of an error answer, whose shape is checked on the way. */
async function refused(
  method: string,
  path: string,
  call: Call = {},
): Promise<readonly [number, readonly string[]]> {
  const before = await sandbox.sql('SELECT count(*) FROM service.journal');
  const answer = await sandbox.call(method, path, call);
  const after = await sandbox.sql('SELECT count(*) FROM service.journal');
  expect(after).toEqual(before);
  expect(answer.headers['content-type']).toBe('application/xml; charset=utf-8');
  expect(answer.root.tag).toBe('errors');
  for (const error of answer.root.elements) expect(error.tag).toBe('error');
  return [answer.status, answer.root.elements.map((error) => error.text)];
}

describe('authentication', () => {
  const basic = (text: string) => ({
    headers: {authorization: `Basic ${Buffer.from(text).toString('base64')}`},
  });
  const denied = [401, ['Invalid Username, Account or password.']];

  test('a wrong token gets 401 with the message of 2018, and no WWW-Authenticate', async () => {
    expect(await refused('GET', '/customers.xml', {token: 'wrong'})).toEqual(denied);
    const answer = await sandbox.call('GET', '/customers.xml', {token: 'wrong'});
    expect(answer.headers['www-authenticate']).toBeUndefined();
    expect(answer.text).toBe(
      '<?xml version="1.0" encoding="UTF-8"?>\n' +
        '<errors>\n  <error>Invalid Username, Account or password.</error>\n</errors>\n',
    );
  });

  test('the token must be both the user name and the password', async () => {
    const {token} = sandbox.service;
    for (const text of [
      `${token}:`,
      `:${token}`,
      `${token}:x`,
      `x:${token}`,
      token,
      '',
      ':',
      `${token}:${token}:`,
    ])
      expect(await refused('GET', '/customers.xml', basic(text))).toEqual(denied);
    expect(
      (await sandbox.call('GET', '/customers.xml?only=id', basic(`${token}:${token}`))).status,
    ).toBe(200);
  });

  test.each(['', 'Bearer x', 'Basic', 'Basic %%%', 'Basic AAAA'])(
    'the Authorization header "%s" gets 401',
    async (authorization) => {
      expect(await refused('GET', '/jobs.xml', {headers: {authorization}})).toEqual(denied);
    },
  );

  test('a route checks the token before the record and the payload', async () => {
    const calls = [
      ['POST', '/customers.xml'],
      ['PUT', '/jobs/999999.xml'],
      ['DELETE', '/tasks/1.xml'],
      ['POST', '/jobs/1/job_charges.xml'],
    ] as const;
    for (const [method, path] of calls)
      expect(await refused(method, path, {token: 'no', body: '<'})).toEqual(denied);
  });
});

describe('unknown records, addresses and methods', () => {
  test.each([
    ['/customers/999999.xml', 'Invalid customer.'],
    ['/customers/abc.xml', 'Invalid customer.'],
    ['/customers/999999/jobs.xml', 'Invalid customer.'],
    ['/customers/999999/notes.xml', 'Invalid customer.'],
    ['/customers/1/notes/999999.xml', 'Invalid note.'],
    ['/jobs/999999.xml', 'Invalid job.'],
    ['/jobs/99999999999999999999999.xml', 'Invalid job.'],
    ['/jobs/999999/notes.xml', 'Invalid job.'],
    ['/jobs/999999/time_entries.xml', 'Invalid job.'],
    ['/jobs/1/time_entries/999999.xml', 'Invalid time entry.'],
    ['/employees/999999.xml', 'Invalid employee.'],
    ['/tasks/999999.xml', 'Invalid task.'],
  ])('%s gets 400 %s', async (path, text) => {
    expect(await refused('GET', path)).toEqual([400, [text]]);
  });

  test('an unknown record is reported before the payload is checked', async () => {
    const call = {body: '<nonsense/>'};
    expect(await refused('PUT', '/customers/999999.xml', call)).toEqual([
      400,
      ['Invalid customer.'],
    ]);
    expect(await refused('POST', '/customers/999999/jobs.xml', call)).toEqual([
      400,
      ['Invalid customer.'],
    ]);
    expect(await refused('POST', '/jobs/999999/job_charges.xml', call)).toEqual([
      400,
      ['Invalid job.'],
    ]);
    expect(await refused('DELETE', '/jobs/999999.xml')).toEqual([400, ['Invalid job.']]);
  });

  test.each([
    '/',
    '/customers',
    '/customers.json',
    '/invoices.xml',
    '/jobs/1/job_charges/2.xml',
    '/customers/1/contacts.xml',
  ])('%s gets 404', async (path) => {
    expect(await refused('GET', path)).toEqual([404, ['There is no such address.']]);
  });

  test.each([
    ['DELETE', '/customers.xml', 'GET, HEAD, POST'],
    ['POST', '/jobs.xml', 'GET, HEAD'],
    ['POST', '/customers/1.xml', 'GET, HEAD, PUT, PATCH, DELETE'],
    ['DELETE', '/employees/1.xml', 'GET, HEAD, PUT, PATCH'],
    ['GET', '/jobs/1/job_charges.xml', 'POST'],
    ['OPTIONS', '/tasks.xml', 'GET, HEAD, POST'],
  ])('%s %s gets 405 with the allowed methods', async (method, path, allowed) => {
    const answer = await sandbox.call(method, path);
    expect([answer.status, answer.headers.allow]).toEqual([405, allowed]);
    expect(answer.root.tag).toBe('errors');
  });
});

describe('payloads', () => {
  test.each([
    '',
    'text/xml',
    'text/plain',
    'application/json',
    'application/x-www-form-urlencoded',
  ])('the content type "%s" gets 415', async (type) => {
    const [status] = await refused('POST', '/customers.xml', {
      body: customer('<name>x</name>'),
      headers: {'content-type': type},
    });
    expect(status).toBe(415);
  });

  test('a content type may have a charset', async () => {
    const headers = {'content-type': 'Application/XML; charset="UTF-8"'};
    const answer = await sandbox.call('POST', '/customers.xml', {
      body: customer('<name>é</name>'),
      headers,
    });
    expect(answer.status).toBe(200);
  });

  const malformed: readonly (readonly [string, string | Buffer])[] = [
    ['nothing', ''],
    ['blanks', '  \n'],
    ['plain text', 'name=x'],
    ['JSON', '{"customer":{"name":"x"}}'],
    ['a cut document', '<customer><name>x'],
    ['mismatched tags', '<customer><name>x</nam></customer>'],
    ['two roots', '<customer><name>x</name></customer><customer/>'],
    ['text after the root', '<customer><name>x</name></customer>tail'],
    ['another root', '<job><name>x</name></job>'],
    ['a list', '<customers><customer><name>x</name></customer></customers>'],
    ['a bare ampersand', customer('<name>AT&T</name>')],
    ['an unknown entity', customer('<name>&bogus;</name>')],
    ['an entity of HTML', customer('<name>&eacute;</name>')],
    ['a reference to U+0000', customer('<name>&#0;</name>')],
    ['a reference beyond Unicode', customer('<name>&#x110000;</name>')],
    ['a control character', customer('<name>\u0001</name>')],
    ['a document type', `<!DOCTYPE customer [<!ENTITY x "y">]>${customer('<name>&x;</name>')}`],
    ['bytes that are no UTF-8', Buffer.from(customer('<name>é</name>'), 'latin1')],
    [
      'an unknown encoding',
      `<?xml version="1.0" encoding="klingon"?>${customer('<name>x</name>')}`,
    ],
    ['a field given twice', customer('<name>x</name><name>y</name>')],
    ['a reserved name', customer('<__proto__>x</__proto__>')],
    ['a tower of elements', '<customer>'.repeat(5000) + '</customer>'.repeat(5000)],
  ];
  test.each(malformed)('%s gets 400', async (_what, body) => {
    const [status, texts] = await refused('POST', '/customers.xml', {
      body,
      headers: {'content-type': 'application/xml'},
    });
    expect(status).toBe(400);
    expect(texts[0]).toMatch(/^The request body is not a valid XML document: ./);
  });

  test('a body over 1 MB gets 413', async () => {
    const [status] = await refused('POST', '/customers.xml', {
      body: customer(`<name>${'x'.repeat(1_100_000)}</name>`),
    });
    expect(status).toBe(413);
  });

  test('a body just under 1 MB is accepted', async () => {
    const name = 'x'.repeat(1_000_000);
    const answer = await sandbox.call('POST', '/customers.xml', {
      body: customer(`<name>${name}</name>`),
    });
    expect(answer.status).toBe(200);
  });
});
