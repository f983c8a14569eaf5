import {describe, expect, test} from 'vitest';
import {findElement, findRemoteRow, listRemoteRows} from '../../src/push/decision.ts';
import {factsOf, remoteOf, withFax} from './facts.ts';

const customer = factsOf();
const note = factsOf({table: 'customer_notes'});
const job = factsOf({table: 'jobs'});

const noted = remoteOf(
  note,
  '<customer_number>7</customer_number>' +
    '<notes><note><id>12</id><note>a</note></note><note><id>13</id></note></notes>',
);

test('a change concerns the record itself, or an item in one of its elements', () => {
  expect([customer, note, job].map(findElement)).toEqual([null, 'notes', null]);
  expect(findElement(factsOf({table: 'time_entries'}))).toBe('time_entries');
});

describe('the rows of a record', () => {
  test('are one row for the record; a missing column is absent, an empty one is null', () => {
    const [row, ...others] = listRemoteRows(
      customer,
      remoteOf(customer, `${withFax('1')}<name nil="true"/>`),
    );
    expect(others).toEqual([]);
    expect(row).toEqual({number: '7', values: {customer_number: '7', fax: '1', name: null}});
  });

  test('are its notes if the change concerns a note', () => {
    expect(listRemoteRows(note, noted).map(({number, values}) => [number, values.note])).toEqual([
      ['12', 'a'],
      ['13', null],
    ]);
  });

  test('are empty if the record does not contain their element', () => {
    expect(listRemoteRows(note, remoteOf(note, withFax('1')))).toEqual([]);
  });

  test('list the employees of a job in order, only if the job contains them', () => {
    const assigned =
      '<employees><employee><id>9</id></employee><employee><id>10</id></employee></employees>';
    const number = '<job_number>5</job_number>';
    expect(findRemoteRow(job, remoteOf(job, number + assigned), '5')?.values.employee_ids).toEqual([
      '10',
      '9',
    ]);
    expect(findRemoteRow(job, remoteOf(job, number), '5')?.values).not.toHaveProperty(
      'employee_ids',
    );
  });
});

test.each([
  ['12', '12'],
  ['14', undefined],
])('the row of the number %s is %s', (number, found) => {
  expect(findRemoteRow(note, noted, number)?.number).toBe(found);
});
