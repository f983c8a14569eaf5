// Which customers of two systems are the same, on made-up ones whose truth is known.

import {describe, expect, test} from 'vitest';
import {type Matches, matchParties} from '../../src/match/match.ts';
import {type Party, readPlain} from '../../src/match/party.ts';
import {makeTwoSystems} from './business.ts';
import {judgeMatching} from './judge.ts';

const oak = {street: '12 Oak Street', city: 'Salem', zip: '97301'};
const elm = {street: '7 Elm Road', city: 'Salem', zip: '97301'};

type Given = Partial<Party> & Pick<Party, 'id' | 'name'>;

function match(ours: readonly Given[], theirs: readonly Given[]): Matches {
  const read = (party: Given) => readPlain({phones: [], emails: [], addresses: [], ...party}, 'US');
  return matchParties(ours.map(read), theirs.map(read));
}

/** `1=P-1` for each pair of the bucket. */
const sureOf = ({sure}: Matches) =>
  sure.map(({ours, theirs}) => `${ours.party.id}=${theirs.party.id}`);
const severalOf = ({several}: Matches) =>
  several.map(
    ({theirs, pairs}) => `${theirs.party.id}: ${pairs.map(({ours}) => ours.party.id).join(' ')}`,
  );

const phone = {phones: ['503-555-0142']};
const email = {emails: ['ada@example.com']};

test.each([1, 2, 3, 4])(
  'no sure pair of 2,000 customers on each side is wrong, and 95 % are found: seed %i',
  (seed) => {
    const {wrong, inSure, inSureOnce, inSureOrSeveral} = judgeMatching(2_000, seed);
    expect(wrong.map(({ours, theirs}) => [ours.party, theirs.party])).toEqual([]);
    expect(inSureOrSeveral).toBeGreaterThan(0.95);
    expect(inSureOnce).toBeGreaterThan(0.85);
    expect(inSure).toBeGreaterThan(0.78);
  },
);

describe('a pair is sure', () => {
  test.each<[string, Given, Given]>([
    [
      'however its values are written',
      {id: '1', name: 'José O’Brien', ...phone, addresses: [oak]},
      {
        id: 'P-1',
        name: 'OBRIEN, Jose',
        phones: ['+1 (503) 555 0142'],
        addresses: [{street: '12 oak st.', city: '', zip: '97301-0042'}],
      },
    ],
    [
      'after a move, by name and telephone',
      {id: '1', name: 'Ada Quux', ...phone, addresses: [oak]},
      {id: 'P-1', name: 'Ada Quux', ...phone, addresses: [elm]},
    ],
    [
      'with a slip in the name, by two values',
      {id: '1', name: 'Ada Thornholt', ...phone, ...email},
      {id: 'P-1', name: 'Ada Thronholt', ...phone, ...email},
    ],
    [
      'of a firm, whatever its form',
      {id: '1', name: 'Quux Plumbing, L.L.C.', ...phone},
      {id: 'P-1', name: 'QUUX PLUMBING', ...phone},
    ],
  ])('%s', (_, ours, theirs) => {
    expect(sureOf(match([ours], [theirs]))).toEqual(['1=P-1']);
  });
});

describe('a pair is left to a person', () => {
  test.each<[string, Given[], Given[], string[]]>([
    [
      'where we have the customer twice',
      [
        {id: '1', name: 'Ada Quux', ...phone, ...email, addresses: [oak]},
        {id: '2', name: 'Ada Quux', ...phone, addresses: [elm]},
      ],
      [{id: 'P-1', name: 'Ada Quux', ...phone, ...email, addresses: [oak]}],
      ['P-1: 1 2'],
    ],
    [
      'where they have the customer twice',
      [{id: '1', name: 'Ada Quux', ...phone, ...email}],
      [
        {id: 'P-1', name: 'Ada Quux', ...phone, ...email},
        {id: 'P-2', name: 'Ada Quux', ...phone, ...email},
      ],
      ['P-1: 1', 'P-2: 1'],
    ],
    [
      'of another first name in one house, with one telephone',
      [{id: '1', name: 'Anna Quux', ...phone, addresses: [oak]}],
      [{id: 'P-1', name: 'Tom Quux', ...phone, addresses: [oak]}],
      ['P-1: 1'],
    ],
    [
      'of a junior, and one of that name',
      [{id: '1', name: 'Ada Quux', ...phone, addresses: [oak]}],
      [{id: 'P-1', name: 'Ada Quux Jr.', ...phone, addresses: [oak]}],
      ['P-1: 1'],
    ],
    [
      'of one name in one house, with another telephone',
      [{id: '1', name: 'Ada Quux', ...phone, addresses: [oak]}],
      [{id: 'P-1', name: 'Ada Quux', phones: ['503-555-0199'], addresses: [oak]}],
      ['P-1: 1'],
    ],
    [
      'of an initial',
      [{id: '1', name: 'Ada Quux', ...phone, addresses: [oak]}],
      [{id: 'P-1', name: 'A. Quux', ...phone, addresses: [oak]}],
      ['P-1: 1'],
    ],
    [
      'of a rare name alone',
      [{id: '1', name: 'Ada Quux'}],
      [{id: 'P-1', name: 'Ada Quux'}],
      ['P-1: 1'],
    ],
  ])('%s', (_, ours, theirs, several) => {
    const matches = match(ours, theirs);
    expect(sureOf(matches)).toEqual([]);
    expect(severalOf(matches)).toEqual(several);
  });
});

test('a telephone number that many share, or a common name, does not make a pair', () => {
  const names = Array.from({length: 40}, (_, at) => `Quux${String.fromCharCode(97 + (at % 26))}a`);
  const tenants = names.map((name, at) => ({id: `${at}`, name: `Tenant ${name}${at}`, ...phone}));
  const smiths = (id: string, seven: string) =>
    Array.from({length: 40}, (_, at) => ({
      id: `${id}${at}`,
      name: 'John Smith',
      phones: [`503-55${seven}-01${String(at).padStart(2, '0')}`],
    }));
  const matches = match(
    [...tenants, ...smiths('S', '5')],
    [{id: 'P-1', name: 'Zoe Newcomer', ...phone}, ...smiths('T', '6')],
  );
  expect(sureOf(matches)).toEqual([]);
  expect(matches.onlyThere.map(({party}) => party.id)).toContain('P-1');
  expect(matches.onlyHere).toHaveLength(80);
});

test('a telephone number and an e-mail that a whole house shares count as one value', () => {
  const tenant = (id: string, name: string, flat: number) => ({
    id,
    name,
    ...phone,
    ...email,
    addresses: [{...oak, street: `12 Oak Street Apt ${flat}`}],
  });
  const names = Array.from({length: 12}, (_, at) => `Tenant Quux${String.fromCharCode(97 + at)}`);
  const all = (side: string) => names.map((name, at) => tenant(`${side}${at}`, name, at));
  const ours = [...all(''), tenant('98', 'Anne Smith', 50), {id: '99', name: 'Anne Smith'}];
  const theirs = [...all('P-'), tenant('P-98', 'Anne Smith', 60), {id: 'P-99', name: 'Anne Smith'}];
  expect(sureOf(match(ours, theirs)).toSorted()).toEqual(
    names.map((_, at) => `${at}=P-${at}`).toSorted(),
  );
});

test('members of a household are distinguished by their first names', () => {
  const house = {...phone, addresses: [oak]};
  const ours = ['Anna', 'Eva', 'Tom'].map((given, at) => ({
    id: `${at + 1}`,
    name: `${given} Quux`,
    ...house,
  }));
  const theirs = ['Tom', 'Eva', 'Anna'].map((given, at) => ({
    id: `P-${at + 1}`,
    name: `Quux, ${given}`,
    ...house,
  }));
  expect(sureOf(match(ours, theirs)).toSorted()).toEqual(['1=P-3', '2=P-2', '3=P-1']);
});

test('after the sure pairs are linked, no other pair becomes sure', () => {
  const {ours, theirs} = makeTwoSystems(2_100, 5);
  const [here, there] = [ours, theirs].map((side) => side.map((party) => readPlain(party, 'US')));
  const {sure, several} = matchParties(here ?? [], there ?? []);
  const linked = new Set(sure.flatMap((pair) => [pair.ours, pair.theirs]));
  const again = matchParties(here ?? [], there ?? [], linked);
  expect(sure.length).toBeGreaterThan(1_000);
  expect(again.sure).toEqual([]);
  expect(again.several).toHaveLength(several.length);
});

test('a customer on one side only is listed for that side', () => {
  const matches = match(
    [{id: '1', name: 'Ada Quux', ...phone}],
    [{id: 'P-1', name: 'Bob Vee', ...email}],
  );
  expect(matches.onlyHere.map(({party}) => party.id)).toEqual(['1']);
  expect(matches.onlyThere.map(({party}) => party.id)).toEqual(['P-1']);
});
