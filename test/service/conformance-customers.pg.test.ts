import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {column, field, openSandbox, type Sandbox, type Seen, within} from './sandbox.ts';

/**
 * Every field of the specification's table except the number, with a value that is easily spoilt.
 */
const fields: Readonly<Record<string, string>> = {
  name: 'Grünwick & Sons "Café" <日本> 🐕',
  phone_number: '+15550100',
  fax: '00555-0101',
  email_address: 'a.b@example.com',
  service_address: '12 Alder Lane\nUnit 4',
  service_city: ' Marlow Falls ',
  service_zip_code: '01234',
  service_state: 'MA',
  service_country: 'None',
  billing_address: '1e5',
  billing_city: "O'Malley",
  billing_zip_code: '275.10',
  billing_state: '0',
  billing_country: 'US',
};
const names = Object.keys(fields);

const escapeXml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
const payload = (values: Readonly<Record<string, string>>) =>
  `<customer>${Object.entries(values)
    .map(([name, value]) => `<${name}>${escapeXml(value)}</${name}>`)
    .join('')}</customer>`;

describe.each(['observed', 'documented'] as const)('customers, %s dialect', (dialect) => {
  let sandbox: Sandbox;
  const number = (customer: Seen) => field(customer, 'customer_number') ?? '';
  const create = (values: Readonly<Record<string, string>>) =>
    sandbox.send('POST', '/customers.xml', payload(values));
  const listed = async (query: string) => (await sandbox.get(`/customers.xml?${query}`)).root;

  beforeAll(async () => {
    sandbox = await openSandbox({dialect});
  });
  afterAll(() => sandbox.close());

  test('a customer_number that is sent on create is ignored: the service assigns one', async () => {
    const customer = await create({name: 'numbered', customer_number: '424242'});
    expect(number(customer)).toMatch(/^\d+$/);
    expect(number(customer)).not.toBe('424242');
    const again = await sandbox.send(
      'PUT',
      `/customers/${number(customer)}.xml`,
      payload({customer_number: '1'}),
    );
    expect(number(again)).toBe(number(customer));
  });

  test.each(names)('%s is kept exactly as it is sent, on create and on update', async (name) => {
    const created = await create({name: 'someone', [name]: fields[name] ?? ''});
    expect(field(created, name)).toBe(fields[name]);
    const changed = `${fields[name]} x`;
    await sandbox.send('PUT', `/customers/${number(created)}.xml`, payload({[name]: changed}));
    expect(field((await sandbox.get(`/customers/${number(created)}.xml`)).root, name)).toBe(
      changed,
    );
  });

  test.each(names)('the filter %s finds customers with exactly that text', async (name) => {
    const value = `${fields[name]} ${name} filter`;
    const wanted = await create({name: 'wanted', [name]: value});
    await create({name: 'other', [name]: `${value} and more`});
    expect(
      column(await listed(new URLSearchParams({[name]: value}).toString()), 'customer_number'),
    ).toEqual([number(wanted)]);
  });

  test('the filter customer_number finds one customer, and none for a text', async () => {
    const customer = await create({name: 'by number'});
    expect(column(await listed(`customer_number=${number(customer)}`), 'name')).toEqual([
      'by number',
    ]);
    expect((await listed('customer_number=abc')).elements).toEqual([]);
  });

  test('combined filters find only the customers that match all of them', async () => {
    const place = {service_city: 'Combi', service_state: 'OH', billing_city: 'Combi'};
    const both = await create({name: 'both', ...place});
    await create({name: 'one', ...place, service_state: 'NJ'});
    const all = new URLSearchParams({...place, name: 'both', customer_number: number(both)});
    expect(column(await listed(all.toString()), 'name')).toEqual(['both']);
    expect(column(await listed('service_city=Combi&billing_city=Combi'), 'name')).toEqual([
      'both',
      'one',
    ]);
  });

  test('an empty filter finds the empty text, not nil', async () => {
    await create({name: 'empty fax', service_city: 'Emptyville', fax: ''});
    await create({name: 'no fax', service_city: 'Emptyville'});
    expect(column(await listed('service_city=Emptyville&fax='), 'name')).toEqual(['empty fax']);
  });

  test('pages of 30 records list each customer once; a page past the end is empty', async () => {
    const pages = await Promise.all(
      [1, 2, 3, 4, 5, 6, 7].map((page) => listed(`page=${page}&only=customer_number`)),
    );
    const [{count} = {count: 0}] = await sandbox.sql(
      'SELECT count(*)::integer AS count FROM service.customers',
    );
    expect(pages[0]?.elements).toHaveLength(30);
    const numbers = pages.flatMap((page) => column(page, 'customer_number'));
    expect(new Set(numbers).size).toBe(count);
    expect(numbers).toHaveLength(Number(count));
    expect((await listed('page=100000')).elements).toEqual([]);
  });

  test('a page that is zero, negative or not a number means the first page', async () => {
    const first = await sandbox.get('/customers.xml?only=id');
    for (const page of ['0', 'abc', '-1', ''])
      expect((await sandbox.get(`/customers.xml?only=id&page=${page}`)).text).toBe(first.text);
  });

  test('the parameter only returns exactly the named columns, in column order', async () => {
    const only = 'phone_number,name,id,nonsense,service-city';
    const list = await listed(`only=${only}`);
    const expected = ['id', 'name', 'phone_number', 'service_city'];
    for (const customer of list.elements)
      expect(customer.elements.map((one) => one.name)).toEqual(expected);
    expect((await sandbox.get(`/customers.xml?only=${only.replaceAll(',', '%20')}`)).text).toBe(
      (await sandbox.get(`/customers.xml?only=${only.replaceAll(',', '%2C')}`)).text,
    );
  });

  test.each([
    ['contacts', 'contact'],
    ['jobs', 'job'],
    ['tasks', 'task'],
    ['notes', 'note'],
  ])('include=%s embeds that list in each customer', async (name, item) => {
    const list = await listed(`include=${name}`);
    const embedded = list.elements.flatMap((customer) => within(customer, name).elements);
    expect(embedded.length).toBeGreaterThan(0);
    expect(new Set(embedded.map((one) => one.name))).toEqual(new Set([item]));
    const owner = name === 'notes' ? 'noteable_id' : 'customer_id';
    for (const customer of list.elements)
      for (const one of within(customer, name).elements)
        expect(field(one, owner)).toBe(field(customer, 'id'));
  });

  test('include=tax_entity embeds the entity whose id is tax_id, if there is one', async () => {
    const list = await listed('include=tax_entity');
    for (const customer of list.elements) {
      const taxId = field(customer, 'tax_id');
      const embedded = customer.elements.find((one) => one.name === 'tax_entity');
      expect(embedded === undefined ? null : field(embedded, 'id')).toBe(taxId);
    }
  });

  test('include accepts several names and ignores unknown ones', async () => {
    const list = await listed('only=id&include=notes,nonsense%20contacts');
    const [first] = list.elements;
    expect(first?.elements.map((one) => one.name)).toEqual(['id', 'contacts', 'notes']);
  });

  test('sub-customers are the last element, even if they are not requested', async () => {
    const parent = await create({name: 'parent'});
    await create({name: 'sub', parent_id: field(parent, 'id') ?? ''});
    const shown = (await sandbox.get(`/customers/${number(parent)}.xml`)).root;
    expect(shown.elements.at(-1)?.name).toBe('children');
    const [child] = within(shown, 'children').elements;
    expect(child && field(child, 'name')).toBe('sub');
    expect(child?.elements.some((one) => one.name === 'children')).toBe(false);
    expect(column(await listed('name=sub'), 'parent_id')).toEqual([field(parent, 'id')]);
  });

  test('a list and a single customer both have all 133 fields', async () => {
    const [first] = (await listed('page=1')).elements;
    expect(first?.elements).toHaveLength(133);
    const shown = (await sandbox.get(`/customers/${first && number(first)}.xml`)).root;
    expect(shown.elements.map((one) => one.name)).toEqual(first?.elements.map((one) => one.name));
  });

  test('PATCH changes the fields that it names and no others', async () => {
    const created = await create({name: 'before', fax: '1', service_city: 'Here'});
    const updated = await sandbox.send(
      'PATCH',
      `/customers/${number(created)}.xml`,
      payload({fax: '2'}),
    );
    expect([field(updated, 'name'), field(updated, 'fax'), field(updated, 'service_city')]).toEqual(
      ['before', '2', 'Here'],
    );
  });

  test('nil="true" makes a field nil, an empty element makes it the empty text', async () => {
    const created = await create({name: 'n', fax: '1', phone_number: '2'});
    const body = '<customer><fax nil="true"/><phone-number></phone-number></customer>';
    const updated = await sandbox.send('PUT', `/customers/${number(created)}.xml`, body);
    expect([field(updated, 'fax'), field(updated, 'phone_number')]).toEqual([null, '']);
  });

  test('a deleted customer is unknown from then on, and so are its jobs', async () => {
    const customer = await create({name: 'goner'});
    const job = await sandbox.send(
      'POST',
      `/customers/${number(customer)}/jobs.xml`,
      '<job><name>j</name></job>',
    );
    const deleted = await sandbox.send('DELETE', `/customers/${number(customer)}.xml`);
    expect(field(deleted, 'name')).toBe('goner');
    expect((await sandbox.get(`/customers/${number(customer)}.xml`)).status).toBe(400);
    expect((await sandbox.get(`/jobs/${field(job, 'job_number')}.xml`)).status).toBe(400);
    expect((await listed('name=goner')).elements).toEqual([]);
  });

  test('a create returns the record and its address in the Location header', async () => {
    const answer = await sandbox.call('POST', '/customers.xml', {body: payload({name: 'placed'})});
    expect(answer.status).toBe(200);
    expect(answer.headers.location).toBe(`/customers/${number(answer.root)}.xml`);
  });
});
