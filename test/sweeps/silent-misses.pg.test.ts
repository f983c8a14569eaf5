// Ways to read a list and miss a record (docs/traps.md "Pages without a cursor"), each as others
// met it.

import {afterEach, describe, expect, test} from 'vitest';
import {edgeWidth} from '../../src/sweeps/evidence.ts';
import {inPages, openScript, range, type ScriptPlace} from '../labs/adversary-place.ts';
import {refuse} from '../labs/adversary-script.ts';

let place: ScriptPlace;

afterEach(async () => await place.close());

/** Opens a place whose warehouse holds the list in its first state. */
async function openHeld(pages: readonly (readonly number[])[]): Promise<ScriptPlace> {
  const opened = await openScript(pages);
  expect(await opened.sweep()).toMatchObject({outcome: 'ended', state: 'certified'});
  opened.script.questions.length = 0;
  return opened;
}

const asked = (kind: 'page' | 'keys' | 'record') =>
  place.script.questions.filter((question) => question.kind === kind).map(({number}) => number);

describe('records that move between pages', () => {
  test('davidcelis/api-pagination#60: a delete on a read page hides no record', async () => {
    // 1 is deleted after page 1 was read: 31 is on page 1 when page 2 is read.
    place = await openScript([range(1, 30), range(32, 61), range(62, 70)]);
    place.script.keys = inPages(range(2, 70), 30);
    place.script.known = range(2, 70);
    expect(await place.sweep()).toMatchObject({state: 'certified'});
    expect(await place.live()).toEqual(range(2, 70));
    expect(await place.deleted()).toEqual([1]);
    expect(asked('record')).toContain(31);
  });

  test('airbytehq/airbyte#21500: a record that an update reorders is not missed', async () => {
    place = await openHeld(inPages(range(1, 70), 30));
    // 65 is edited after page 1 was read: it leaves page 3, and the rest moves on by one.
    place.script.pages = [range(1, 30), range(30, 59), [...range(60, 64), ...range(66, 70)]];
    place.script.keys = inPages([65, ...range(1, 64), ...range(66, 70)], 30);
    place.script.more = (number) => (number === 65 ? '<description>edited</description>' : '');
    expect(await place.sweep()).toMatchObject({state: 'certified'});
    expect(await place.live()).toEqual(range(1, 70));
    expect((await place.descriptions())['65']).toBe('edited');
  });

  test('a record that jumps to page 1 in both passes is requested by its number', async () => {
    place = await openHeld(inPages(range(1, 70), 30));
    const withoutIt = [...range(1, 64), ...range(66, 70)];
    place.script.pages = inPages(withoutIt, 30);
    place.script.keys = inPages(withoutIt, 30);
    place.script.known = range(1, 70);
    place.script.more = (number) => (number === 65 ? '<description>edited</description>' : '');
    expect(await place.sweep()).toMatchObject({state: 'certified'});
    expect(asked('record')).toContain(65);
    expect((await place.descriptions())['65']).toBe('edited');
    expect(await place.deleted()).toEqual([]);
  });

  test('a record read by its number that changes back is not skipped as known', async () => {
    place = await openHeld(inPages(range(1, 70), 30));
    const describe65 = (text: string) => (number: number) =>
      number === 65 ? `<description>${text}</description>` : '';
    const pages = place.script.pages;
    place.script.more = describe65('before');
    await place.sweep();
    place.script.pages = inPages([...range(1, 64), ...range(66, 70)], 30);
    place.script.known = range(1, 70);
    place.script.more = describe65('meanwhile');
    await place.sweep();
    expect((await place.descriptions())['65']).toBe('meanwhile');
    place.script.pages = pages;
    place.script.more = describe65('before');
    expect(await place.sweep()).toMatchObject({state: 'certified'});
    expect((await place.descriptions())['65']).toBe('before');
  });

  test('airbytehq/airbyte#76465: a record that no list shows is found by its gap', async () => {
    place = await openScript(inPages([...range(1, 40), ...range(42, 70)], 30));
    place.script.known = range(1, 70);
    expect(await place.sweep()).toMatchObject({state: 'certified'});
    expect(await place.live()).toEqual(range(1, 70));
  });

  test('the newest record, missed by both passes, is found behind the last number', async () => {
    place = await openHeld(inPages(range(1, 60), 30));
    place.script.pages = [range(1, 30), [...range(32, 60)]];
    place.script.keys = inPages(range(1, 60), 30);
    place.script.known = range(1, 61);
    expect(await place.sweep()).toMatchObject({state: 'certified'});
    expect(await place.live()).toEqual(range(1, 61));
  });

  test('an insert at the head makes records come twice, and each is one row', async () => {
    place = await openScript([range(1, 30), range(30, 59), [60]]);
    place.script.keys = [[61, ...range(1, 29)], range(30, 59), [60]];
    expect(await place.sweep()).toMatchObject({state: 'certified'});
    expect(await place.live()).toEqual(range(1, 61));
  });

  test('ties in an unstable order: another order in each pass loses no record', async () => {
    place = await openHeld(inPages(range(1, 70), 30));
    // 31 stands on page 1 when page 2 is read, and 30 on page 2 when page 1 is.
    place.script.pages = [[...range(1, 29), 31], [31, ...range(32, 60)], range(61, 70)];
    place.script.keys = [[...range(1, 29), 30], [30, ...range(32, 60)], range(61, 70)];
    expect(await place.sweep()).toMatchObject({outcome: 'ended'});
    expect(await place.live()).toEqual(range(1, 70));
  });
});

describe('misleading pages', () => {
  test('a short page in the middle does not end the list', async () => {
    place = await openScript([range(1, 30), [31], range(32, 61), range(62, 63), range(64, 70)]);
    expect(await place.sweep()).toMatchObject({state: 'certified', counts: {records: 70}});
    expect(await place.live()).toEqual(range(1, 70));
  });

  test('airbytehq/airbyte-python-cdk#1073: a page of bad records is not the end', async () => {
    place = await openScript([range(1, 30), range(31, 60), range(61, 70)]);
    place.script.more = (number, {kind}) =>
      kind !== 'keys' && number > 30 && number <= 60
        ? '<subtotal type="decimal">a lot</subtotal>'
        : '';
    expect(await place.sweep()).toMatchObject({
      state: 'uncertified',
      counts: {quarantined: expect.any(Number)},
    });
    const {rows} = await place.world.pool.query('SELECT count(*)::integer FROM sync.quarantine');
    expect(rows).toEqual([{count: 30}]);
    expect(await place.live()).toEqual([...range(1, 30), ...range(61, 70)]);
    expect(await place.reasons()).not.toEqual([]);
  });

  test('an empty page in the middle of a new list never certifies a part of it', async () => {
    place = await openScript([range(1, 30), [], range(31, 40)]);
    const result = await place.sweep();
    expect(result).toMatchObject({outcome: 'ended'});
    if ('state' in result && result.state === 'certified')
      expect(await place.live()).toEqual(range(1, 40));
    expect(await place.deleted()).toEqual([]);
  });

  test('an empty page in the middle of a list loses no row; stale rows have a reason', async () => {
    place = await openHeld(inPages(range(1, 90), 30));
    place.script.pages = [range(1, 30), [], range(31, 60), range(61, 90)];
    place.script.more = (number) => `<description>edited ${number}</description>`;
    const result = await place.sweep();
    expect(await place.live()).toEqual(range(1, 90));
    const old = Object.values(await place.descriptions()).filter((text) => text === null);
    if ('state' in result && result.state === 'certified') expect(old).toEqual([]);
    else expect(await place.reasons()).not.toEqual([]);
  });

  test('Pagy out_of_range = :last_page: a last page that repeats ends the list', async () => {
    const pages = inPages(range(1, 70), 30);
    place = await openHeld(pages);
    place.script.pages = [...pages, ...Array.from({length: 200}, () => range(61, 70))];
    expect(await place.sweep()).toMatchObject({outcome: 'ended', state: 'uncertified'});
    expect(place.script.questions.length).toBeLessThan(60);
    expect(await place.live()).toEqual(range(1, 70));
  });

  test('pages counted from 0: page 1 comes twice, and nothing is lost', async () => {
    const pages = inPages(range(1, 70), 30);
    place = await openHeld(pages);
    place.script.pages = [range(1, 30), ...pages];
    const result = await place.sweep();
    expect(result).toMatchObject({outcome: 'ended'});
    expect(result).not.toMatchObject({state: 'certified'});
    expect(await place.live()).toEqual(range(1, 70));
  });

  test('a service without pages: the repeated list ends, and is not certified', async () => {
    place = await openScript(Array.from({length: 200}, () => range(1, 70)));
    expect(await place.sweep()).toMatchObject({outcome: 'ended', state: 'uncertified'});
    expect(await place.live()).toEqual(range(1, 70));
  });
});

describe('interrupted passes', () => {
  const failures: [name: string, twist: ScriptPlace['script']['twist']][] = [
    ['a 500', (_, response) => refuse(response, 500, {body: ''})],
    [
      'a page of HTML',
      (_, response) =>
        refuse(response, 200, {body: '<html>Log in</html>', contentType: 'text/html'}),
    ],
    [
      'a list cut short inside a record',
      (_, response) =>
        refuse(response, 200, {
          body:
            '<?xml version="1.0" encoding="UTF-8"?>\n<jobs type="array">\n' +
            '  <job><id type="integer">1</id><job-number type="int',
        }),
    ],
  ];

  test.each(failures)(
    '%s on a page of the first pass deletes no later records, and the next attempt reads them',
    async (_, answer) => {
      place = await openHeld(inPages(range(1, 70), 30));
      place.script.twist = (question, response) =>
        question.kind === 'page' && question.number === 2 && answer(question, response);
      expect(await place.sweep()).toMatchObject({outcome: 'postponed'});
      expect(asked('record')).toEqual([]);
      expect(await place.live()).toEqual(range(1, 70));
      place.script.twist = () => false;
      place.script.pages = inPages(range(1, 71), 30);
      expect(await place.sweep()).toMatchObject({state: 'certified'});
      expect(await place.live()).toEqual(range(1, 71));
    },
  );

  test.each(failures)(
    '%s on a page of the second pass: the sweep is not certified until the page is read',
    async (_, answer) => {
      place = await openHeld(inPages(range(1, 70), 30));
      place.script.twist = (question, response) =>
        question.kind === 'keys' && question.number === 2 && answer(question, response);
      expect(await place.sweep()).toMatchObject({outcome: 'postponed'});
      place.script.twist = () => false;
      expect(await place.sweep()).toMatchObject({state: 'certified'});
      expect(await place.live()).toEqual(range(1, 70));
    },
  );

  test('NangoHQ/integration-templates#644: a resumed sweep knows what it read', async () => {
    const numbers = range(1, 700);
    place = await openHeld(inPages(numbers, 30));
    place.script.twist = ({kind, number}, response) =>
      kind === 'page' && number === 20 && refuse(response, 503, {body: ''});
    expect(await place.sweep()).toMatchObject({outcome: 'postponed'});
    place.script.twist = () => false;
    expect(await place.sweep()).toMatchObject({
      state: 'certified',
      counts: {asked: edgeWidth, tombstoned: 0},
    });
    expect(await place.live()).toEqual(numbers);
  });
});

describe('one number far above all others', () => {
  test('does not prevent certified sweeps: its gap is sampled once', async () => {
    place = await openScript([[...range(1, 30)], [10_000_000]]);
    expect(await place.sweep()).toMatchObject({state: 'certified'});
    expect(asked('record')).toHaveLength(200 + edgeWidth);
    place.script.questions.length = 0;
    expect(await place.sweep()).toMatchObject({state: 'certified'});
    expect(asked('record').toSorted()).toEqual(range(10_000_001, 10_000_000 + edgeWidth));
  });

  test('hides no record next to the known ones, though no pass shows it', async () => {
    place = await openScript([[...range(1, 30)], [10_000_000]]);
    place.script.known = [...range(1, 33), 10_000_000];
    await place.sweep();
    expect(await place.live()).toEqual([...range(1, 33), 10_000_000]);
  });
});
