import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {column, field, openSandbox, type Sandbox, type Seen} from './sandbox.ts';

describe.each(['observed', 'documented'] as const)('tasks and notes, %s dialect', (dialect) => {
  let sandbox: Sandbox;
  const create = (fields: string) => sandbox.send('POST', '/tasks.xml', `<task>${fields}</task>`);
  const path = (task: Seen) => `/tasks/${field(task, 'id')}.xml`;
  const scheduledAt = dialect === 'observed' ? '2027-01-04T00:05:00-05:00' : '1/4/2027 12:05am';

  beforeAll(async () => {
    sandbox = await openSandbox({dialect});
  });
  afterAll(() => sandbox.close());

  test('the service assigns the id, and the path contains it', async () => {
    const task = await create('<name>i</name><id>1</id>');
    expect(field(task, 'id')).not.toBe('1');
    expect(field((await sandbox.get(path(task))).root, 'name')).toBe('i');
  });

  test('name is kept and updated', async () => {
    const task = await create('<name>Call &amp; wait</name>');
    expect(field(task, 'name')).toBe('Call & wait');
    expect(
      field(await sandbox.send('PUT', path(task), '<task><name>x</name></task>'), 'name'),
    ).toBe('x');
  });

  test.each(['1/4/2027 12:05am', '01/04/27 12:05am', '2027-01-04 00:05', '2027-01-04T05:05:00Z'])(
    'scheduled_at accepts %s',
    async (text) => {
      expect(
        field(await create(`<name>s</name><scheduled_at>${text}</scheduled_at>`), 'scheduled_at'),
      ).toBe(scheduledAt);
    },
  );

  test.each(['true', 'false'])(
    'completed=%s lists only tasks with that value',
    async (completed) => {
      await create(`<name>c</name><completed>${completed}</completed>`);
      const list = (await sandbox.get(`/tasks.xml?completed=${completed}`)).root;
      expect(new Set(column(list, 'completed'))).toEqual(new Set([completed]));
    },
  );

  test('a task can be completed and reopened', async () => {
    const task = await create('<name>f</name>');
    expect(field(task, 'completed')).toBe('false');
    const done = await sandbox.send('PUT', path(task), '<task><completed>true</completed></task>');
    expect([field(done, 'completed'), field(done, 'completed_at')]).toEqual([
      'true',
      '2026-11-02T10:00:00-05:00',
    ]);
    const again = await sandbox.send('PUT', path(task), '<task><completed>0</completed></task>');
    expect([field(again, 'completed'), field(again, 'completed_at')]).toEqual(['false', null]);
  });

  test('employee_number lists tasks of that employee and combines with other filters', async () => {
    const employee = await sandbox.send(
      'POST',
      '/employees.xml',
      '<employee><name>E</name></employee>',
    );
    const task = await create(
      `<name>e</name><employee_id>${field(employee, 'id')}</employee_id>` +
        '<scheduled_at>11/2/2026 08:00am</scheduled_at>',
    );
    const query = `employee_number=${field(employee, 'employee_number')}`;
    expect(column((await sandbox.get(`/tasks.xml?${query}`)).root, 'id')).toEqual([
      field(task, 'id'),
    ]);
    const all = `${query}&completed=false&scheduled_at=today`;
    expect(column((await sandbox.get(`/tasks.xml?${all}`)).root, 'id')).toEqual([
      field(task, 'id'),
    ]);
    expect((await sandbox.get(`/tasks.xml?${query}&completed=true`)).root.elements).toEqual([]);
  });

  test('pages of at most 30 tasks list each task once', async () => {
    const [{count} = {count: 0}] = await sandbox.sql(
      'SELECT count(*)::integer AS count FROM service.tasks WHERE deleted_at IS NULL',
    );
    const ids: unknown[] = [];
    for (let page = 1; ; page++) {
      const list = (await sandbox.get(`/tasks.xml?page=${page}`)).root;
      if (list.elements.length === 0) break;
      expect(list.elements.length).toBeLessThanOrEqual(30);
      ids.push(...column(list, 'id'));
    }
    expect([new Set(ids).size, ids.length]).toEqual([count, count]);
  });

  test('a deleted task is unknown, and tasks_count of its job decreases by one', async () => {
    const [job] = (await sandbox.get('/jobs.xml?only=id,job_number,tasks_count')).root.elements;
    const before = Number(job && field(job, 'tasks_count'));
    const counted = async () =>
      Number(
        field(
          (await sandbox.get(`/jobs/${job && field(job, 'job_number')}.xml`)).root,
          'tasks_count',
        ),
      );
    const task = await create(`<name>d</name><job_id>${job && field(job, 'id')}</job_id>`);
    expect(await counted()).toBe(before + 1);
    await sandbox.send('DELETE', path(task));
    expect(await counted()).toBe(before);
    expect((await sandbox.get(path(task))).root.elements[0]?.text).toBe('Invalid task.');
  });

  test('a task of a job is a task of its customer', async () => {
    const job = (await sandbox.get('/jobs.xml')).root.elements[0];
    const task = await create(`<name>c</name><job_id>${job && field(job, 'id')}</job_id>`);
    expect(field(task, 'customer_id')).toBe(job && field(job, 'customer_id'));
  });

  describe.each([
    ['customer', '/customers/3/notes', '/customers/4/notes', 'Customer'],
    ['job', '/jobs/3/notes', '/jobs/4/notes', 'Job'],
  ])('%s notes', (_kind, own, other, noteableType) => {
    const body = (text: string) => `<note><note>${text}</note></note>`;
    const add = (text: string) => sandbox.send('POST', `${own}.xml`, body(text));

    test('the text is the element note within the element note', async () => {
      const note = await add('line 1\nline 2 &amp; <![CDATA[<3]]>');
      expect(note.name).toBe('note');
      expect([field(note, 'note'), field(note, 'noteable_type')]).toEqual([
        'line 1\nline 2 & <3',
        noteableType,
      ]);
      expect(field((await sandbox.get(`${own}/${field(note, 'id')}.xml`)).root, 'note')).toBe(
        'line 1\nline 2 & <3',
      );
    });

    test('the list holds the notes of that record', async () => {
      const note = await add('listed');
      expect(column((await sandbox.get(`${own}.xml`)).root, 'id')).toContain(field(note, 'id'));
      expect(column((await sandbox.get(`${other}.xml`)).root, 'id')).not.toContain(
        field(note, 'id'),
      );
    });

    test('an update accepts the same shape as a create', async () => {
      const note = await add('before');
      const updated = await sandbox.send('PUT', `${own}/${field(note, 'id')}.xml`, body('after'));
      expect(field(updated, 'note')).toBe('after');
    });

    test('an update to a blank text is refused, and the text stays', async () => {
      const path = `${own}/${field(await add('kept'), 'id')}.xml`;
      expect((await sandbox.call('PUT', path, {body: body(' ')})).status).toBe(422);
      expect(field((await sandbox.get(path)).root, 'note')).toBe('kept');
    });

    test('a deleted note cannot be read; a note is unknown under another record', async () => {
      const note = await add('gone');
      const wrong = await sandbox.get(`${other}/${field(note, 'id')}.xml`);
      expect([wrong.status, wrong.root.elements[0]?.text]).toEqual([400, 'Invalid note.']);
      expect((await sandbox.call('DELETE', `${other}/${field(note, 'id')}.xml`)).status).toBe(400);
      await sandbox.send('DELETE', `${own}/${field(note, 'id')}.xml`);
      expect((await sandbox.get(`${own}/${field(note, 'id')}.xml`)).status).toBe(400);
      expect(column((await sandbox.get(`${own}.xml`)).root, 'id')).not.toContain(field(note, 'id'));
    });
  });
});
