import {describe, expect, test} from 'vitest';
import {finish} from '../../src/push/decision.ts';
import type {ChangeValues} from '../../src/rows/change-values.ts';
import {factsOf, remoteOf, withFax} from './facts.ts';

const facts = factsOf();
const done = {number: '7', since: '2027-03-01T12:00:00Z'};

function resultOf(sent: ChangeValues, elements: string, unsent: readonly string[] = []) {
  const remote = remoteOf(facts, `<customer_number>7</customer_number>${elements}`);
  return finish(facts, {...done, remote, sent, unsent}).result;
}

describe('the result of a change', () => {
  test.each([
    ['the same', {fax: '1'}, '<fax>1</fax>', null],
    ['missing from the reading', {fax: '1'}, '', null],
    [
      'the same in another writing: tidied',
      {name: ' Ada  B '},
      '<name>Ada B</name>',
      {tidied: {name: {sent: ' Ada  B ', got: 'Ada B'}}},
    ],
    [
      'something else: altered',
      {name: 'Ada'},
      '<name>ADA</name>',
      {altered: {name: {sent: 'Ada', got: 'ADA'}}},
    ],
    [
      'none of it: altered',
      {name: 'Ada'},
      '<name nil="true"/>',
      {altered: {name: {sent: 'Ada', got: null}}},
    ],
    [
      'the one altered, the other tidied',
      {name: 'Ada', fax: '555-01'},
      '<name>Bo</name><fax>555 01</fax>',
      {
        altered: {name: {sent: 'Ada', got: 'Bo'}},
        tidied: {fax: {sent: '555-01', got: '555 01'}},
      },
    ],
  ])('when the value read back is %s', (_, sent, elements, result) => {
    expect(resultOf(sent, elements)).toEqual(result);
  });

  test('names the fields that the service already had', () => {
    expect(resultOf({}, '', ['name'])).toEqual({unsent: ['name']});
  });
});

test('a finished change contains the values that the service has for its row', () => {
  const remote = remoteOf(facts, withFax('555-0199'));
  expect(finish(facts, {...done, remote, sent: {}})).toMatchObject({
    isGone: false,
    values: {customer_number: '7', fax: '555-0199'},
    conflicts: [],
    attempt: null,
  });
});

test('a finished change of a deleted record contains no values', () => {
  expect(finish(facts, {...done, remote: null, sent: {fax: '1'}})).toMatchObject({
    isGone: true,
    values: {},
    result: null,
  });
});
