import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {column, field, openSandbox, type Sandbox, type Seen, within} from './sandbox.ts';

describe.each(['observed', 'documented'] as const)('jobs, %s dialect', (dialect) => {
  let sandbox: Sandbox;
  let customer: string;
  const number = (job: Seen) => field(job, 'job_number') ?? '';
  const create = (fields: string) =>
    sandbox.send('POST', `/customers/${customer}/jobs.xml`, `<job>${fields}</job>`);
  const update = (job: Seen, fields: string) =>
    sandbox.send('PUT', `/jobs/${number(job)}.xml`, `<job>${fields}</job>`);
  const listed = async (query: string) => (await sandbox.get(`/jobs.xml?${query}`)).root;
  const scheduledOn = dialect === 'observed' ? '2026-12-24T21:05:00-05:00' : '12/24/26 09:05pm';

  beforeAll(async () => {
    sandbox = await openSandbox({dialect});
    const created = await sandbox.send(
      'POST',
      '/customers.xml',
      '<customer><name>Owner of jobs</name></customer>',
    );
    customer = field(created, 'customer_number') ?? '';
  });
  afterAll(() => sandbox.close());

  test('the service assigns job_number on create, and an update cannot change it', async () => {
    const job = await create('<name>a</name><job_number>424242</job_number>');
    expect(number(job)).toMatch(/^\d+$/);
    expect(number(job)).not.toBe('424242');
    expect(number(await update(job, '<job_number>1</job_number>'))).toBe(number(job));
  });

  test('name is kept as it is sent', async () => {
    const job = await create('<name>0042 &amp; &#233;&#x1F415;</name>');
    expect(field(job, 'name')).toBe('0042 & é🐕');
    expect(field(await update(job, '<name> b </name>'), 'name')).toBe(' b ');
  });

  test.each([
    '12/24/26 09:05pm',
    '12/24/2026 9:05 PM',
    '2026-12-24 21:05',
    '2026-12-24T21:05:00-05:00',
    '2026-12-25T02:05:00Z',
  ])('scheduled_on accepts %s, and the duration sets the end', async (text) => {
    const job = await create(
      `<name>s</name><scheduled_on>${text}</scheduled_on><duration>90</duration>`,
    );
    expect(field(job, 'scheduled_on')).toBe(scheduledOn);
    expect(field(job, 'ends_at')).toBe('2026-12-24T22:35:00-05:00');
    expect(field(await update(job, '<duration>30.0</duration>'), 'ends_at')).toBe(
      '2026-12-24T21:35:00-05:00',
    );
  });

  test('an empty or nil scheduled_on removes the job from the schedule', async () => {
    for (const empty of ['<scheduled_on></scheduled_on>', '<scheduled_on nil="true"/>']) {
      const job = await create('<name>u</name><scheduled_on>12/24/26 09:05pm</scheduled_on>');
      const updated = await update(job, empty);
      expect([field(updated, 'scheduled_on'), field(updated, 'ends_at')]).toEqual([null, null]);
    }
  });

  test('employee_ids contains internal ids and replaces the assigned employees', async () => {
    const ids = column((await sandbox.get('/employees.xml')).root, 'id').slice(0, 3);
    const list = (some: readonly unknown[]) => {
      const items = some.map((id) => `<employee_id>${id}</employee_id>`);
      return `<employee_ids type="array">${items.join('')}</employee_ids>`;
    };
    const job = await create(`<name>e</name>${list(ids)}`);
    const assigned = async () =>
      column(
        within((await sandbox.get(`/jobs/${number(job)}.xml?include=employees`)).root, 'employees'),
        'id',
      );
    expect(await assigned()).toEqual(ids);
    await update(job, list(ids.slice(2)));
    expect(await assigned()).toEqual(ids.slice(2));
    await update(job, '<name>still assigned</name>');
    expect(await assigned()).toEqual(ids.slice(2));
    await update(job, '<employee-ids type="array"/>');
    expect(await assigned()).toEqual([]);
  });

  test.each([
    ['job_type_id', '104', 'job_type', 'Plumbing'],
    ['job_status_id', '202', 'job_status', 'Customer to call back'],
  ])('%s is set, shown, filtered by and embedded', async (name, id, include, title) => {
    const job = await create(`<name>t</name><${name}>${id}</${name}>`);
    expect(field(job, name)).toBe(id);
    const found = (
      await sandbox.get(`/customers/${customer}/jobs.xml?${name}=${id}&include=${include}`)
    ).root;
    expect(column(found, 'job_number')).toContain(number(job));
    for (const one of found.elements) expect(field(within(one, include), 'name')).toBe(title);
    expect(field(await update(job, `<${name} nil="true"/>`), name)).toBeNull();
    expect((await listed(`${name}=999`)).elements).toEqual([]);
  });

  test.each([
    ['in_progress', ['in_progress']],
    ['completed', ['complete']],
    ['uncompleted', ['scheduled', 'in_progress']],
  ])('state=%s lists all jobs with its statuses and no others', async (state, statuses) => {
    const [counted] = await sandbox.sql(
      `SELECT count(*)::integer AS count FROM service.jobs
        WHERE status = ANY ($1) AND deleted_at IS NULL`,
      [statuses],
    );
    const found: unknown[] = [];
    for (let page = 1; ; page++) {
      const list = await listed(`state=${state}&only=job_number,status&page=${page}`);
      if (list.elements.length === 0) break;
      found.push(...column(list, 'job_number'));
      for (const status of column(list, 'status')) expect(statuses).toContain(status);
    }
    expect(new Set(found).size).toBe(counted?.count);
  });

  test('a finished job moves from state uncompleted to completed', async () => {
    const job = await create('<name>f</name>');
    const isIn = async (state: string) =>
      column(
        (await sandbox.get(`/customers/${customer}/jobs.xml?state=${state}`)).root,
        'job_number',
      ).includes(number(job));
    expect([await isIn('uncompleted'), await isIn('completed')]).toEqual([true, false]);
    const finished = await update(job, '<status>complete</status>');
    expect(field(finished, 'completed_on')).toBe('2026-11-02T10:00:00-05:00');
    expect([await isIn('uncompleted'), await isIn('completed')]).toEqual([false, true]);
  });

  test('employee_number filters by the number of an employee, not by the internal id', async () => {
    const employee = (await sandbox.get('/employees.xml')).root.elements[2];
    const id = employee && field(employee, 'id');
    const job = await create(
      `<name>n</name><employee_ids type="array"><employee_id>${id}</employee_id></employee_ids>`,
    );
    const own = `/customers/${customer}/jobs.xml`;
    const found = await sandbox.get(
      `${own}?employee_number=${employee && field(employee, 'employee_number')}`,
    );
    expect(column(found.root, 'job_number')).toContain(number(job));
    expect((await sandbox.get(`${own}?employee_number=${id}`)).root.elements).toEqual([]);
  });

  test('filters can be combined with each other, and with page and only', async () => {
    const job = await create(
      '<name>c</name><job_type_id>107</job_type_id><scheduled_on>11/2/26 08:00am</scheduled_on>',
    );
    const query = 'job_type_id=107&state=uncompleted&scheduled=today&only=name,job_number';
    expect(
      column((await sandbox.get(`/customers/${customer}/jobs.xml?${query}`)).root, 'job_number'),
    ).toEqual([number(job)]);
    expect(
      (await sandbox.get(`/customers/${customer}/jobs.xml?${query}&page=2`)).root.elements,
    ).toEqual([]);
  });

  test('the jobs of one customer are its own; the list accepts only and include', async () => {
    const customers = (await sandbox.get('/customers.xml?include=jobs')).root.elements;
    for (const one of customers.slice(0, 5)) {
      const own = (
        await sandbox.get(
          `/customers/${field(one, 'customer_number')}/jobs.xml?only=job_number&include=notes`,
        )
      ).root;
      expect(column(own, 'job_number')).toEqual(
        column(within(one, 'jobs'), 'job_number').slice(0, 30),
      );
      for (const job of own.elements)
        expect(job.elements.map(({name}) => name)).toEqual(['job_number', 'notes']);
    }
  });

  test.each([
    'customer',
    'employees',
    'job_charges',
    'time_entries',
    'notes',
    'job_type',
    'job_status',
    'tax_entity',
  ])('include=%s adds that element and no other to the requested fields', async (name) => {
    const list = await listed(`include=${name}&only=job_number`);
    const embedded = list.elements.flatMap((job) =>
      job.elements.filter((one) => one.name === name),
    );
    if (name !== 'job_status') expect(embedded.length).toBeGreaterThan(0);
    for (const job of list.elements)
      expect(['job_number', name]).toEqual(
        expect.arrayContaining(job.elements.map((one) => one.name)),
      );
  });

  test('an embedded customer has all its fields except its sub-customers', async () => {
    const [job] = (await listed('include=customer')).elements;
    const embedded = job && within(job, 'customer');
    expect(embedded?.elements).toHaveLength(132);
    expect(embedded && field(embedded, 'id')).toBe(job && field(job, 'customer_id'));
  });

  test('an include of all parts returns them in one fixed order', async () => {
    const all = [
      'customer',
      'employees',
      'job_charges',
      'time_entries',
      'notes',
      'job_type',
      'job_status',
      'tax_entity',
    ];
    const list = await listed(`only=id&include=${[...all].reverse().join(',')}`);
    for (const job of list.elements) {
      const places = job.elements.map((one) => ['id', ...all].indexOf(one.name));
      expect(places).toEqual([...places].sort((left, right) => left - right));
    }
  });

  test('a list and one job have all 113 fields', async () => {
    const [first] = (await listed('page=1')).elements;
    expect(first?.elements).toHaveLength(113);
    const shown = (await sandbox.get(`/jobs/${first && number(first)}.xml`)).root;
    expect(shown.elements.map((one) => one.name)).toEqual(first?.elements.map((one) => one.name));
  });

  test('a charge can only be created; the job shows it and adds it to its totals', async () => {
    const job = await create('<name>charged</name>');
    const charges = `/jobs/${number(job)}/job_charges.xml`;
    const body =
      '<job_charge><item_id>9001</item_id><details>Two &amp; a half</details>' +
      '<quantity>2.5</quantity><price_per_unit>275.10</price_per_unit></job_charge>';
    const charge = await sandbox.send('POST', charges, body);
    const values = ['item_id', 'details', 'quantity', 'price_per_unit', 'total'].map((name) =>
      field(charge, name),
    );
    expect(values).toEqual(['9001', 'Two & a half', '2.5', '275.10', '687.75']);
    await sandbox.send(
      'POST',
      charges,
      '<job-charge><quantity>3</quantity><price-per-unit>0.1</price-per-unit></job-charge>',
    );
    const shown = (await sandbox.get(`/jobs/${number(job)}.xml?include=job_charges`)).root;
    expect(column(within(shown, 'job_charges'), 'total')).toEqual(['687.75', '0.3']);
    expect([field(shown, 'subtotal'), field(shown, 'total')]).toEqual(['688.05', '688.05']);
    for (const method of ['GET', 'PUT', 'DELETE'])
      expect((await sandbox.call(method, charges)).status).toBe(405);
  });

  test('a deleted job is unknown and not listed, and its tasks are deleted too', async () => {
    const job = await create('<name>goner</name>');
    const task = await sandbox.send(
      'POST',
      '/tasks.xml',
      `<task><name>t</name><job_id>${field(job, 'id')}</job_id></task>`,
    );
    expect(field(await sandbox.send('DELETE', `/jobs/${number(job)}.xml`), 'name')).toBe('goner');
    expect((await sandbox.get(`/jobs/${number(job)}.xml`)).status).toBe(400);
    expect((await sandbox.get(`/tasks/${field(task, 'id')}.xml`)).status).toBe(400);
    expect(
      column((await sandbox.get(`/customers/${customer}/jobs.xml`)).root, 'name'),
    ).not.toContain('goner');
  });
});
