// What the service made of a change, by its record before and after the request.

import {expect, test} from 'vitest';
import {listModifiedColumns} from '../../src/push/decision.ts';
import {factsOf, remoteOf} from './facts.ts';

const customer = factsOf();
const note = factsOf({table: 'customer_notes'});
const number = '<customer_number>7</customer_number>';

const told = (elements: string) => remoteOf(customer, number + elements);

test('listModifiedColumns returns the columns that differ, and no others', () => {
  const before = told('<fax>1</fax><name>a</name>');
  expect(listModifiedColumns(customer, '7', before, told('<fax>2</fax><name>a</name>'))).toEqual({
    customers: ['fax'],
  });
  expect(listModifiedColumns(customer, '7', before, before)).toEqual({customers: []});
});

test('listModifiedColumns returns no column that is missing from one of the two readings', () => {
  const [whole, less] = [told('<fax>1</fax><name>a</name>'), told('<fax>2</fax>')].map(
    (remote) => ({
      ...remote,
      unsaid: new Set(remote.row.values.includes('a') ? [] : ['name']),
    }),
  );
  if (whole === undefined || less === undefined) throw new TypeError('two readings');
  expect(listModifiedColumns(customer, '7', whole, less)).toEqual({customers: ['fax']});
  expect(listModifiedColumns(customer, '7', less, whole)).toEqual({customers: ['fax']});
});

test('listModifiedColumns returns `extra` for a field without a column', () => {
  expect(
    listModifiedColumns(customer, '7', told('<shoe>1</shoe>'), told('<shoe>2</shoe>')),
  ).toEqual({
    customers: ['extra'],
  });
});

test('listModifiedColumns of a note returns the columns of its record and its own', () => {
  const noted = (fax: string, text: string, other: string) =>
    remoteOf(
      note,
      `${number}<fax>${fax}</fax><notes><note><id>12</id><note>${text}</note></note>` +
        `<note><id>13</id><note>${other}</note></note></notes>`,
    );
  const before = noted('1', 'a', 'x');
  expect(listModifiedColumns(note, '12', before, noted('2', 'b', 'y'))).toEqual({
    customers: ['fax'],
    customer_notes: ['note'],
  });
  expect(listModifiedColumns(note, '12', before, before)).toEqual({
    customers: [],
    customer_notes: [],
  });
  expect(listModifiedColumns(note, '14', before, before)).toEqual({customers: []});
});

test('listModifiedColumns returns no columns of a note that one of the readings lacks', () => {
  const empty = remoteOf(note, `${number}<notes/>`);
  const noted = remoteOf(note, `${number}<notes><note><id>12</id><note>a</note></note></notes>`);
  expect(listModifiedColumns(note, '12', empty, noted)).toEqual({customers: []});
  expect(listModifiedColumns(note, '12', noted, empty)).toEqual({customers: []});
});
