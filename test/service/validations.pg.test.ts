import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {openSandbox, type Sandbox} from './sandbox.ts';

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await openSandbox();
});
afterAll(() => sandbox.close());

async function refused(
  method: string,
  path: string,
  body?: string,
): Promise<readonly [number, readonly string[]]> {
  const before = await sandbox.sql('SELECT count(*) FROM service.journal');
  const answer = await sandbox.call(method, path, body === undefined ? {} : {body});
  expect(await sandbox.sql('SELECT count(*) FROM service.journal')).toEqual(before);
  expect(answer.root.tag).toBe('errors');
  return [answer.status, answer.root.elements.map((error) => error.text)];
}

const cases: readonly (readonly [
  method: string,
  path: string,
  body: string,
  texts: readonly string[],
])[] = [
  ['POST', '/customers.xml', '<customer/>', ["Name can't be blank"]],
  ['POST', '/customers.xml', '<customer><name>  </name></customer>', ["Name can't be blank"]],
  ['PUT', '/customers/1.xml', '<customer><name nil="true"/></customer>', ["Name can't be blank"]],
  [
    'PUT',
    '/customers/1.xml',
    '<customer><parent_id>99</parent_id></customer>',
    ['Parent must exist'],
  ],
  ['PUT', '/customers/1.xml', '<customer><name><b>x</b></name></customer>', ['Name is invalid']],
  [
    'PUT',
    '/customers/1.xml',
    '<customer><is_active>maybe</is_active></customer>',
    ['Is active is not true or false'],
  ],
  ['PUT', '/jobs/1.xml', '<job><job_type_id>99</job_type_id></job>', ['Job type must exist']],
  ['PUT', '/jobs/1.xml', '<job><job_status_id>99</job_status_id></job>', ['Job status must exist']],
  ['PUT', '/jobs/1.xml', '<job><job_type_id>x</job_type_id></job>', ['Job type is not a number']],
  [
    'PUT',
    '/jobs/1.xml',
    '<job><scheduled_on>soon</scheduled_on></job>',
    ['Scheduled on is not a valid date and time'],
  ],
  [
    'PUT',
    '/jobs/1.xml',
    '<job><scheduled_on>2/30/26 09:00am</scheduled_on></job>',
    ['Scheduled on is not a valid date and time'],
  ],
  [
    'PUT',
    '/jobs/1.xml',
    '<job><scheduled_on>2/3/26 13:00pm</scheduled_on></job>',
    ['Scheduled on is not a valid date and time'],
  ],
  [
    'PUT',
    '/jobs/1.xml',
    '<job><status>lost</status></job>',
    ['Status is not included in the list'],
  ],
  [
    'PUT',
    '/jobs/1.xml',
    '<job><duration>-1</duration></job>',
    ['Duration must be greater than or equal to 0'],
  ],
  ['PUT', '/jobs/1.xml', '<job><employee_ids>5</employee_ids></job>', ['Employee ids is invalid']],
  [
    'PUT',
    '/jobs/1.xml',
    '<job><employee_ids type="array"><employee_id>99</employee_id></employee_ids></job>',
    ['Employee 99 must exist'],
  ],
  [
    'POST',
    '/jobs/1/job_charges.xml',
    '<job_charge><quantity>two</quantity></job_charge>',
    ['Quantity is not a number'],
  ],
  [
    'POST',
    '/jobs/1/job_charges.xml',
    '<job_charge><price_per_unit>1e5</price_per_unit></job_charge>',
    ['Price per unit is not a number'],
  ],
  [
    'POST',
    '/jobs/1/job_charges.xml',
    '<job_charge><item_id>x</item_id></job_charge>',
    ['Item is not a number'],
  ],
  [
    'POST',
    '/jobs/1/time_entries.xml',
    '<time_entry/>',
    ["Employee can't be blank", "Started on can't be blank", "Number of hours can't be blank"],
  ],
  [
    'POST',
    '/jobs/1/time_entries.xml',
    '<time_entry><employee_id>x</employee_id><started_on>x</started_on>' +
      '<number_of_hours>x</number_of_hours></time_entry>',
    [
      'Employee is not a number',
      'Started on is not a valid date and time',
      'Number of hours is not a number',
    ],
  ],
  [
    'POST',
    '/jobs/1/time_entries.xml',
    '<time_entry><employee_id>99</employee_id>' +
      '<started_on>10/30/2026 01:30pm</started_on>' +
      '<number_of_hours>-1</number_of_hours></time_entry>',
    ['Number of hours must be greater than or equal to 0', 'Employee must exist'],
  ],
  [
    'POST',
    '/tasks.xml',
    '<task><scheduled_at>11/2/2026 08:00am</scheduled_at></task>',
    ["Name can't be blank"],
  ],
  [
    'POST',
    '/tasks.xml',
    '<task><name>x</name><scheduled_at>x</scheduled_at></task>',
    ['Scheduled at is not a valid date and time'],
  ],
  [
    'POST',
    '/tasks.xml',
    '<task><name>x</name><completed nil="true"/></task>',
    ["Completed can't be blank"],
  ],
  [
    'POST',
    '/tasks.xml',
    '<task><name>x</name><employee_id>99</employee_id><job_id>99</job_id></task>',
    ['Employee must exist', 'Job must exist'],
  ],
  ['POST', '/customers/1/notes.xml', '<note/>', ["Note can't be blank"]],
  ['POST', '/jobs/1/notes.xml', '<note><note> </note></note>', ["Note can't be blank"]],
  ['POST', '/employees.xml', '<employee/>', ["Name can't be blank"]],
  [
    'POST',
    '/employees.xml',
    '<employee><name>x</name><active>x</active></employee>',
    ['Active is not true or false'],
  ],
  [
    'POST',
    '/employees.xml',
    '<employee><name>x</name><can_login>true</can_login></employee>',
    ["Username can't be blank", "Password can't be blank"],
  ],
];

describe('an invalid value gets 422, which names every problem, and has no effect', () => {
  test.each(cases)('%s %s %s', async (method, path, body, texts) => {
    expect(await refused(method, path, body)).toEqual([422, texts]);
  });

  test('a user name that is already in use', async () => {
    const employee = '<employee><name>x</name><username>taken</username></employee>';
    await sandbox.send('POST', '/employees.xml', employee);
    expect(await refused('POST', '/employees.xml', employee)).toEqual([
      422,
      ['Username has already been taken'],
    ]);
  });
});

describe('a filter', () => {
  test.each([
    ['/jobs.xml?scheduled=someday', 'Scheduled is not included in the list'],
    ['/jobs.xml?scheduled=', 'Scheduled is not included in the list'],
    ['/jobs.xml?scheduled=constructor', 'Scheduled is not included in the list'],
    ['/jobs.xml?state=done', 'State is not included in the list'],
    ['/jobs.xml?state=toString', 'State is not included in the list'],
    ['/customers/1/jobs.xml?state=done', 'State is not included in the list'],
    ['/tasks.xml?completed=yes', 'Completed is not included in the list'],
    ['/tasks.xml?scheduled_at=someday', 'Scheduled at is not included in the list'],
  ])('%s gets 422: the specification has no such value', async (path, text) => {
    expect(await refused('GET', path)).toEqual([422, [text]]);
  });

  test('with an invalid number or text finds nothing', async () => {
    for (const query of ['employee_number=x', 'job_type_id=x', 'job_status_id=-1'])
      expect((await sandbox.get(`/jobs.xml?${query}`)).root.elements).toEqual([]);
    expect((await sandbox.get('/customers.xml?name=%00')).root.elements).toEqual([]);
  });

  test('that is given twice counts with its last value; a plus means a blank', async () => {
    const twice = await sandbox.get('/jobs.xml?only=id&state=completed&state=in_progress');
    expect(twice.text).toBe((await sandbox.get('/jobs.xml?only=id&state=in_progress')).text);
    const several = await sandbox.get('/jobs.xml?only=id&state=uncompleted+in_progress');
    expect(several.text).toBe((await sandbox.get('/jobs.xml?only=id&state=uncompleted')).text);
  });
});
