// The bytes of answers in both dialects, against docs/service.md "Envelopes".

import {gunzipSync} from 'node:zlib';
import {Agent, request} from 'undici';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {inSequence} from '../support/patterns.ts';
import {field, openSandbox, type Sandbox} from './sandbox.ts';

const HEADER = '<?xml version="1.0" encoding="UTF-8"?>\n';

describe('the observed dialect', () => {
  let sandbox: Sandbox;
  let customer: string;
  let job: string;
  beforeAll(async () => {
    sandbox = await openSandbox();
    const body =
      '<customer><name>A &amp; "B" \'C\' &lt;D&gt; é 日本 🐕</name><fax/>' +
      '<service_address>1 Lane\nUnit 4</service_address></customer>';
    customer = field(await sandbox.send('POST', '/customers.xml', body), 'customer_number') ?? '';
    const scheduled =
      '<job><name>j</name><scheduled_on>7/4/26 09:00am</scheduled_on>' +
      '<duration>60.0</duration></job>';
    job =
      field(
        await sandbox.send('POST', `/customers/${customer}/jobs.xml`, scheduled),
        'job_number',
      ) ?? '';
  });
  afterAll(() => sandbox.close());

  test('an empty list is one self-closing tag', async () => {
    for (const list of ['customers', 'jobs']) {
      const {text} = await sandbox.get(`/${list}.xml?page=9999`);
      expect(text).toBe(`${HEADER}<${list} type="array"/>\n`);
    }
    expect((await sandbox.get(`/jobs/${job}/time_entries.xml`)).text).toBe(
      `${HEADER}<time-entries type="array"/>\n`,
    );
    expect((await sandbox.get(`/jobs/${job}/notes.xml`)).text).toBe(
      `${HEADER}<notes type="array"/>\n`,
    );
  });

  test('a list has dashed names and typed fields; nil and empty differ', async () => {
    const only =
      'name,fax,phone_number,service_address,parent_id,balance,is_active,created_at,latitude';
    const {text} = await sandbox.get(`/customers.xml?customer_number=${customer}&only=${only}`);
    expect(text).toBe(`${HEADER}<customers type="array">
  <customer>
    <created-at type="dateTime">2026-11-02T10:00:00-05:00</created-at>
    <name>A &amp; "B" 'C' &lt;D&gt; é 日本 🐕</name>
    <phone-number nil="true"/>
    <fax></fax>
    <service-address>1 Lane
Unit 4</service-address>
    <parent-id type="integer" nil="true"/>
    <is-active type="boolean">true</is-active>
    <balance type="decimal">0.0</balance>
    <latitude type="float" nil="true"/>
  </customer>
</customers>
`);
  });

  test('one customer has the plural root without a type, one job the singular root', async () => {
    const shown = await sandbox.get(`/customers/${customer}.xml?only=id,fax`);
    expect(shown.text).toMatch(
      inSequence(
        /^<\?xml[^\n]*\n<customers>\n {2}<id type="integer">\d+<\/id>\n/,
        / {2}<fax><\/fax>\n<\/customers>\n$/,
      ),
    );
    expect((await sandbox.get(`/jobs/${job}.xml`)).root.tag).toBe('job');
  });

  test('instants are in local time with the offset of their date, never Z', async () => {
    const {text} = await sandbox.get(
      `/jobs/${job}.xml?only=scheduled_on,ends_at,created_at,completed_on`,
    );
    expect(text).toBe(`${HEADER}<job>
  <created-at type="dateTime">2026-11-02T10:00:00-05:00</created-at>
  <scheduled-on type="dateTime">2026-07-04T09:00:00-04:00</scheduled-on>
  <completed-on type="dateTime" nil="true"/>
  <ends-at type="dateTime">2026-07-04T10:00:00-04:00</ends-at>
</job>
`);
  });

  test('nested elements have the recorded shape', async () => {
    await sandbox.send(
      'PUT',
      `/jobs/${job}.xml`,
      '<job><employee_ids type="array"><employee_id>1003</employee_id></employee_ids></job>',
    );
    const {text} = await sandbox.get(`/jobs/${job}.xml?only=chosen_days_of_week,job_allocations`);
    expect(
      text.replace(/<amount type="(float">0\.0|integer">0)</g, '<amount type="float">0.0<'),
    ).toBe(`${HEADER}<job>
  <chosen-days-of-week type="array"/>
  <job-allocations>
    <allocations type="array">
      <allocation>
        <id nil="true"/>
        <amount type="float">0.0</amount>
        <edited type="boolean">false</edited>
        <manual type="boolean">false</manual>
        <allocation-type>house</allocation-type>
      </allocation>
      <allocation>
        <id type="integer">1003</id>
        <amount type="float">0.0</amount>
        <edited type="boolean">false</edited>
        <manual type="boolean">false</manual>
        <allocation-type>employee</allocation-type>
      </allocation>
    </allocations>
    <include-expenses type="boolean">true</include-expenses>
  </job-allocations>
</job>
`);
  });

  test('a type attribute names the class if the element name does not', async () => {
    const parent = await sandbox.get(`/customers/${customer}.xml`);
    await sandbox.send(
      'POST',
      '/customers.xml',
      `<customer><name>sub</name><parent_id>${field(parent.root, 'id')}</parent_id></customer>`,
    );
    await sandbox.send(
      'PUT',
      `/customers/${customer}.xml`,
      '<customer><tax_id>301</tax_id></customer>',
    );
    const {text} = await sandbox.get(`/customers/${customer}.xml?include=tax_entity`);
    expect(text).toContain(
      '\n  <children type="array">\n    <child type="Customer">\n      <id type="integer">',
    );
    expect(text).toContain('\n  <tax-entity type="Tax">\n    <id type="integer">301</id>');
  });

  test('a CR is sent raw, and a control character is dropped', async () => {
    await sandbox.sql(
      `UPDATE service.customers SET fields = fields || '{"pager": "a\\r\\nb\\u0007c"}'
        WHERE customer_number = $1`,
      [customer],
    );
    expect((await sandbox.get(`/customers/${customer}.xml?only=pager`)).text).toContain(
      '<pager>a\r\nbc</pager>',
    );
  });
});

describe('the documented dialect', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await openSandbox({dialect: 'documented'});
  });
  afterAll(() => sandbox.close());

  test('names have underscores, no element has a type, three times are textual', async () => {
    const customer = await sandbox.send(
      'POST',
      '/customers.xml',
      '<customer><name>c</name><fax></fax></customer>',
    );
    const base = `/customers/${field(customer, 'customer_number')}`;
    const shown = (await sandbox.get(`${base}.xml?only=name,fax,phone_number,created_at,children`))
      .text;
    expect(shown).toBe(`${HEADER}<customer>
  <created_at>2026-11-02T10:00:00-05:00</created_at>
  <name>c</name>
  <phone_number nil="true"/>
  <fax></fax>
  <children/>
</customer>
`);
    const job = await sandbox.send(
      'POST',
      `${base}/jobs.xml`,
      '<job><scheduled-on>07/04/2026 09:05AM</scheduled-on></job>',
    );
    expect(field(job, 'scheduled_on')).toBe('7/4/26 09:05am');
    expect(field(job, 'ends_at')).toBe('2026-07-04T10:05:00-04:00');
    const entry = await sandbox.send(
      'POST',
      `/jobs/${field(job, 'job_number')}/time_entries.xml`,
      '<time-entry><employee-id>1001</employee-id>' +
        '<started-on>7/4/26 12:00am</started-on>' +
        '<number-of-hours>1</number-of-hours></time-entry>',
    );
    expect([entry.tag, field(entry, 'started_on')]).toEqual(['time_entry', '07/04/2026 12:00am']);
    const task = await sandbox.send(
      'POST',
      '/tasks.xml',
      '<task><name>t</name><scheduled_at>2026-07-04 12:30</scheduled_at></task>',
    );
    expect(field(task, 'scheduled_at')).toBe('7/4/2026 12:30pm');
  });

  test('no answer holds a type attribute or a dashed name', async () => {
    const everything = [
      '/customers.xml?include=contacts,jobs,tasks,notes,tax_entity',
      '/jobs.xml?include=customer,employees,job_charges,time_entries,notes,' +
        'job_type,job_status,tax_entity',
      '/employees.xml',
      '/tasks.xml',
      '/customers.xml?page=9999',
    ];
    for (const path of everything) {
      const {text} = await sandbox.get(path);
      expect(text).not.toMatch(/<[^>]* type=/);
      expect(text.replace(/<\?xml[^\n]*/, '')).not.toMatch(/<\/?[a-z_0-9]*-/);
    }
  });
});

describe('HTTP', () => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await openSandbox({compress: true, basePath: '/acme'});
  });
  afterAll(() => sandbox.close());

  async function fetchRaw(path: string, headers: Readonly<Record<string, string>>, method = 'GET') {
    const {token, url} = sandbox.service;
    const authorization = `Basic ${Buffer.from(`${token}:${token}`).toString('base64')}`;
    const dispatcher = new Agent();
    const answer = await request(url + path, {
      method,
      headers: {authorization, ...headers},
      dispatcher,
    });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    await dispatcher.close();
    return {status: answer.statusCode, headers: answer.headers, bytes};
  }

  test('only a large body is compressed, and only if the client accepts gzip', async () => {
    const plain = await fetchRaw('/customers.xml', {});
    const packed = await fetchRaw('/customers.xml', {'accept-encoding': 'br, gzip'});
    expect([plain.headers['content-encoding'], packed.headers['content-encoding']]).toEqual([
      undefined,
      'gzip',
    ]);
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
    const refusing = await fetchRaw('/customers.xml', {'accept-encoding': 'gzip;q=0'});
    expect(refusing.headers['content-encoding']).toBeUndefined();
    const small = await fetchRaw('/customers.xml?page=9999', {'accept-encoding': 'gzip'});
    expect(small.headers['content-encoding']).toBeUndefined();
    const error = await fetchRaw('/customers/999999.xml', {'accept-encoding': 'gzip'});
    expect(error.headers['content-encoding']).toBeUndefined();
  });

  test('the headers are the recorded ones: no ETag, Last-Modified or Set-Cookie', async () => {
    const {headers} = await fetchRaw('/customers.xml', {});
    expect(headers).toMatchObject({
      'content-type': 'application/xml; charset=utf-8',
      'cache-control': 'no-cache, no-store, max-age=0, must-revalidate',
      'x-request-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
      'x-runtime': expect.stringMatching(/^\d+\.\d+$/),
    });
    for (const name of ['etag', 'last-modified', 'link', 'set-cookie', 'x-total-count'])
      expect(headers).not.toHaveProperty(name);
  });

  test('the base URL may have a path, which the Location header then has too', async () => {
    expect(sandbox.service.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/acme$/);
    const answer = await sandbox.call('POST', '/customers.xml', {
      body: '<customer><name>x</name></customer>',
    });
    expect(answer.headers.location).toMatch(/^\/acme\/customers\/\d+\.xml$/);
    const note = await sandbox.call('POST', '/customers/1/notes.xml', {
      body: '<note><note>x</note></note>',
    });
    expect(note.headers.location).toMatch(/^\/acme\/customers\/1\/notes\/\d+\.xml$/);
  });

  test('HEAD answers like GET, without a body', async () => {
    const {status, bytes} = await fetchRaw('/customers/1.xml', {}, 'HEAD');
    expect([status, bytes.length]).toEqual([200, 0]);
  });

  test('an invalid URL gets 400 as XML', async () => {
    const {status, headers, bytes} = await fetchRaw('/customers/%zz.xml', {});
    expect([status, headers['content-type']]).toEqual([400, 'application/xml; charset=utf-8']);
    expect(bytes.toString()).toContain('<errors>');
  });
});
