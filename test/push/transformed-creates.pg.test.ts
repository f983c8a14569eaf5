// A create whose answer is lost is found, whatever the service makes of its text: it is never
// created a second time.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {customerResource} from '../../src/service/resource.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

let place: ScriptedPlace;

beforeEach(async () => {
  place = await openScriptedPlace();
  place.mischief.script = ({method}) => (method === 'POST' ? 'lose' : null);
});
afterEach(async () => await place.close());

const names = [
  ['plain', 'Ada Example'],
  ['with a blank before and behind', ' Ada Example  '],
  ['with a no-break space at its end', 'Ada Example\u00a0'],
  ['with two blanks inside', 'Ada  Example'],
  ['with a tab', 'Ada\tExample'],
  ['with a line end of two signs', 'Ada\r\nExample'],
  ['with a letter and its accent apart', 'Ade\u0301la'],
  ['with a letter that bears its accent', 'Ad\u00e9la'],
  ['with a ligature', 'O\ufb03ce'],
  ['with wide letters', '\uff21da'],
  ['with entities in its text', 'A &amp; B <C>'],
  ['in mixed case', 'aDA eXAMPLE'],
] as const;

const made = [
  ['keeps it', (name: string) => name],
  ['trims it', (name: string) => name.trim()],
  ['makes single blanks of many', (name: string) => name.trim().replaceAll(/\s+/g, ' ')],
  ['composes it', (name: string) => name.normalize('NFC')],
  ['decomposes it', (name: string) => name.normalize('NFD')],
  ['folds it', (name: string) => name.normalize('NFKC')],
  ['writes it in capitals', (name: string) => name.toUpperCase()],
  ['ends lines with one sign', (name: string) => name.replaceAll('\r\n', '\n')],
] as const;

describe.each(names)('a name %s', (_, name) => {
  test.each(made)('is created once if the service %s', async (_what, store) => {
    await place.author(`INSERT INTO warehouse.customers (name) VALUES ($1)`, [name]);
    await place.push();
    place.mischief.script = null;
    for (const {fields} of place.service.store.list(customerResource, null))
      fields.name = store(name);
    await place.rest();
    expect(place.service.store.journal.filter(({kind}) => kind === 'create')).toHaveLength(1);
    const [change] = await place.changes('state, sends, number');
    expect(change).toMatchObject({sends: 1});
    expect(change?.number).not.toBeNull();
  });
});
