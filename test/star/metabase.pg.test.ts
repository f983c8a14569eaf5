// The script of `export metabase`, run as a user runs it, against a server with the shapes of
// Metabase's API. Its statements run on a mirrored business, as a login that may only read.

import {writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {boards} from '../../src/star/boards.ts';
import {questions} from '../../src/star/star.ts';
import {runCommand, startProgram} from '../support/command.ts';
import {type FilesPlace, openFilesPlace} from '../support/files-place.ts';
import {adminKey, Metabase} from '../support/metabase.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

const login = `dashboards_${process.pid}`;
const author = `author_${process.pid}`;
let place: FilesPlace;
let script = '';
let metabase: Metabase;

beforeAll(async () => {
  place = await openFilesPlace();
  for (const [role, of] of [
    [login, 'fieldmirror_reader'],
    [author, 'fieldmirror_author, fieldmirror_reader'],
  ])
    await makeRole(`${role}`, `LOGIN PASSWORD 'made-up: it''s' IN ROLE ${of}`);
  const {code, stdout} = await runCommand(['export', 'metabase'], place.env);
  expect(code).toBe(0);
  script = join(place.folder, 'metabase.mjs');
  await writeFile(script, stdout);
});
afterAll(async () => {
  await dropRoles(login, author);
  await place?.close();
});

beforeEach(async () => {
  metabase = new Metabase();
  await metabase.open();
  return () => metabase.close();
});

function addressFor(role: string): string {
  const url = new URL(place.env.DATABASE_URL ?? '');
  url.username = role;
  url.password = encodeURIComponent("made-up: it's");
  return url.href;
}

/**
 * Runs the script with the key of an administrator and the address of a reader, unless told
 * otherwise.
 */
const run = (given: Readonly<Record<string, string>> = {}) =>
  startProgram([process.execPath, script], {
    METABASE_URL: `${metabase.url}/`,
    METABASE_API_KEY: adminKey,
    WAREHOUSE_URL: addressFor(login),
    ...given,
  }).ended;

describe('a Metabase without anything gets', () => {
  test('a connection to mart, after whose sync come the questions, each with rows and with its columns', async () => {
    metabase.syncsToCome = 1;
    expect(await run()).toEqual({code: 0, stderr: '', stdout: expect.stringContaining('36 added')});
    const [database] = metabase.databases.values();
    expect(database).toMatchObject({
      name: 'Fieldmirror',
      details: {'schema-filters-patterns': 'mart', user: login},
    });
    const cards = [...metabase.cards.values()];
    expect(cards.map(({name}) => name)).toEqual([
      'How old are these figures?',
      ...questions.map(({question}) => question),
    ]);
    for (const {name, dataset_query, visualization_settings: settings} of cards) {
      const answer = await metabase.run(dataset_query);
      expect({name, ...(answer as object)}).toMatchObject({name, status: 'completed'});
      const {cols} = (answer as {data: {cols: {name: string}[]}}).data;
      const drawn = [settings['graph.dimensions'] ?? [], settings['graph.metrics'] ?? []].flat();
      expect(cols.map((column) => column.name)).toEqual(expect.arrayContaining(drawn));
    }
    expect(cards.filter(({display}) => display !== 'table').length).toBeGreaterThan(10);
  });

  test('a dashboard for each reader, with the age of the figures first and no card upon another', async () => {
    await run();
    const dashboards = [...metabase.dashboards.values()];
    expect(dashboards.map(({name}) => name)).toEqual(boards.map(({title}) => title));
    for (const [at, {dashcards}] of dashboards.entries()) {
      const named = dashcards.map(
        ({card_id}) => metabase.cards.get(card_id ?? 0)?.description ?? '',
      );
      expect(named.map((text) => /\(Fieldmirror: (.*)\)$/.exec(text)?.[1])).toEqual([
        'freshness',
        ...(boards[at]?.questions ?? []),
      ]);
      const cells = dashcards.flatMap(({row, col, size_x, size_y}) =>
        Array.from(
          {length: size_x * size_y},
          (_, cell) => `${row + Math.floor(cell / size_x)}, ${col + (cell % size_x)}`,
        ),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(Math.max(...dashcards.map(({col, size_x}) => col + size_x))).toBe(24);
    }
  });
});

describe('a second run', () => {
  test('makes nothing twice, and gives back what was changed; places on a dashboard stay', async () => {
    await run();
    const before = structuredClone({cards: metabase.cards, dashboards: metabase.dashboards});
    const [card] = metabase.cards.values();
    const [dashboard] = metabase.dashboards.values();
    if (card === undefined || dashboard === undefined)
      throw new Error('expected a card and a dashboard');
    metabase.cards.set(card.id, {...card, name: 'Mine', display: 'line'});
    const moved = dashboard.dashcards.map((each) => ({...each, row: each.row + 40}));
    metabase.dashboards.set(dashboard.id, {...dashboard, dashcards: moved});

    expect(await run()).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('0 added, 36 brought up to date'),
    });
    expect(metabase.cards).toEqual(before.cards);
    expect(metabase.dashboards).toEqual(
      before.dashboards.set(dashboard.id, {...dashboard, dashcards: moved}),
    );
    expect([metabase.databases.size, metabase.collections.size]).toEqual([1, 1]);
    expect(metabase.seen).toContain(
      `POST /api/database/${[...metabase.databases.keys()][0]}/sync_schema`,
    );
  });

  test('puts what a dashboard lacks below what people placed, on their first tab', async () => {
    await run();
    const [dashboard] = metabase.dashboards.values();
    if (dashboard === undefined) throw new Error('expected a dashboard');
    const [first, ...rest] = dashboard.dashcards;
    const own = {
      ...rest.at(-1),
      id: 9_999,
      card_id: null,
      row: 70,
      col: 0,
      size_x: 24,
      size_y: 5,
      series: [],
    };
    const tabs = [{id: 71, name: 'Mine'}];
    metabase.dashboards.set(dashboard.id, {...dashboard, tabs, dashcards: [...rest, own]});
    expect(await run()).toMatchObject({code: 0});
    const after = metabase.dashboards.get(dashboard.id);
    expect(after?.tabs).toEqual(tabs);
    expect(after?.dashcards.slice(0, -1)).toEqual([...rest, own]);
    expect(after?.dashcards.at(-1)).toMatchObject({
      card_id: first?.card_id,
      row: 75,
      dashboard_tab_id: 71,
    });
  });
});

describe('it is refused, and nothing is left behind,', () => {
  const nothing = () => [metabase.databases.size, metabase.collections.size, metabase.cards.size];

  test('where the login could write: a question in SQL runs with its rights', async () => {
    const {code, stderr} = await run({WAREHOUSE_URL: addressFor(author)});
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`may only read, got "${author}"; make one: CREATE ROLE`),
    ]);
    expect(nothing()).toEqual([0, 0, 0]);
  });

  test('where the account is none of the warehouse, whose accounts it then names', async () => {
    const {code, stderr} = await run({FIELDMIRROR_ACCOUNT: "o'brien"});
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/expected one of [\w.:]+, got "o'brien"/),
    ]);
    expect(nothing()).toEqual([0, 0, 0]);
  });

  test('without settings, with a wrong key, and with an address of another kind: no secret is told', async () => {
    expect((await run({METABASE_API_KEY: '', WAREHOUSE_URL: ''})).stderr).toContain(
      'expected METABASE_API_KEY, WAREHOUSE_URL in the environment',
    );
    const wrong = await run({METABASE_API_KEY: 'mb_wrong'});
    expect(wrong.stderr).toContain(
      'GET /api/database: expected 200, got 401: Unauthenticated; METABASE_API_KEY: make',
    );
    const other = await run({WAREHOUSE_URL: 'mysql://a:made-up-secret@127.0.0.1/x'});
    expect(other.stderr).toContain(
      'WAREHOUSE_URL: expected an address that begins with postgres://',
    );
    const gone = await run({METABASE_URL: 'http://127.0.0.1:1'});
    expect(gone.stderr).toContain('GET http://127.0.0.1:1/api/database: expected an answer, got');
    for (const {code, stdout, stderr} of [wrong, other, gone]) {
      expect(code).toBe(1);
      expect(stdout + stderr).not.toMatch(/mb_wrong|made-up/);
    }
  });
});

test('of several accounts each gets a collection of its own, with its own figures', async () => {
  const {rows} = await place.pool.query('SELECT name FROM mart.dim_account');
  const account = rows[0]?.name;
  expect(await run({FIELDMIRROR_ACCOUNT: account, METABASE_NAME: 'Field'})).toMatchObject({
    code: 0,
  });
  expect([...metabase.collections.values()].map(({name}) => name)).toEqual([`Field: ${account}`]);
  expect([...metabase.databases.values()].map(({name}) => name)).toEqual(['Field']);
  for (const {dataset_query} of metabase.cards.values()) {
    expect(dataset_query.native.query).toContain(
      `FROM mart.dim_account WHERE name = '${account}') ORDER BY`,
    );
    expect(await metabase.run(dataset_query)).toMatchObject({status: 'completed'});
  }
});
