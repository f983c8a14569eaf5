// Every place in which a caller chooses an account, or something that belongs to one: addresses of
// the HTTP API, actions and pages of the console, verbs, functions of the database, tools of an
// assistant. A caller bound to one account names what belongs to another: it gets nothing of it and
// changes nothing in it. The places come from the program; one that is missing in these tables
// fails.

import {randomBytes} from 'node:crypto';
import {globSync, readFileSync} from 'node:fs';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Client} from '@modelcontextprotocol/sdk/client/index.js';
import {StdioClientTransport} from '@modelcontextprotocol/sdk/client/stdio.js';
import type {Command} from 'commander';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {addApiKey} from '../../src/accounts/access.ts';
import {buildProgram} from '../../src/cli/program.ts';
import {actions, pages} from '../../src/console/server.ts';
import {allTables} from '../../src/streams/all.ts';
import {openHttpReceiver, type TestReceiver} from '../support/alert-receivers.ts';
import {main, runCommand} from '../support/command.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {withClient} from '../support/with-client.ts';
import {type ChangesPlace, openPlace} from './changes-place.ts';
import type {Person} from './place.ts';

/** In the name of the other account, and in every text of its rows. */
const word = 'zanzibar';
const author = `author_${randomBytes(4).toString('hex')}`;
let place: ChangesPlace;
let receiver: TestReceiver;
let folder: string;
let bound: Person;
let free: Person;
let key: string;
let env: Readonly<Record<string, string>>;
/** Numbers of what belongs to the other account. */
let theirs: Readonly<
  Record<'pending' | 'held' | 'rejected' | 'conflict' | 'done' | 'sweep' | 'entry' | 'row', string>
>;
/** Tables whose rows bear the number of an account. */
let bearing: readonly string[];
let before: string;

beforeAll(async () => {
  place = await openPlace();
  receiver = await openHttpReceiver();
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-apart-'));
  await writeFile(join(folder, 'parties.csv'), 'key,name\nP-1,Nobody\n');
  const {pool, account, stranger} = place;
  await pool.query('UPDATE sync.accounts SET name = $2 WHERE account_id = $1', [
    stranger.accountId,
    word,
  ]);
  await repair(
    `UPDATE warehouse.customers SET name = '${word} ' || customer_number WHERE account_id = $;
     UPDATE warehouse.jobs SET name = '${word}' WHERE account_id = $; UPDATE warehouse.tasks
       SET name = '${word}' WHERE account_id = $;
     UPDATE warehouse.employees SET name = '${word}'
       WHERE account_id = $; UPDATE warehouse.job_notes SET note = '${word}' WHERE account_id = $;
     UPDATE warehouse.customer_notes SET note = '${word}' WHERE account_id = $`,
  );
  theirs = await makeTheirs();
  await pool.query('SELECT sync.sequence_feed(); SELECT sync.refresh_star()');
  bound = await place.person({role: 'operator'});
  free = await place.person({role: 'admin'});
  const made = await addApiKey(pool, {
    name: 'erp',
    accountId: account.accountId,
    role: 'operator',
    masks: false,
  });
  key = made?.reveal() ?? '';
  await makeRole(author, `LOGIN PASSWORD 'made-up' IN ROLE fieldmirror_author`);
  await pool.query('SELECT sync.grant_account($1, $2)', [author, account.name]);
  env = {
    DATABASE_URL: place.databaseUrl,
    FIELDMIRROR_KEY: randomBytes(32).toString('base64'),
    FIELDMIRROR_HOME: folder,
  };
  const {rows} = await pool.query<{name: string}>(
    `SELECT DISTINCT attrelid::regclass::text AS name FROM pg_attribute
     JOIN pg_class ON pg_class.oid = attrelid
      WHERE relkind = 'r' AND attname = 'account_id' AND NOT attisdropped
      AND relnamespace::regnamespace::text IN ('warehouse', 'history', 'sync') ORDER BY 1`,
  );
  bearing = rows.map(({name}) => name);
  expect(bearing.length).toBeGreaterThan(30);
});
afterAll(async () => {
  await dropRoles(author);
  await receiver?.close();
  await place?.close();
  await rm(folder, {recursive: true, force: true});
});
beforeEach(async () => {
  before = await digest();
});
afterEach(async () => {
  expect(await digest(), 'the other account was changed').toBe(before);
});

async function repair(text: string): Promise<void> {
  await place.pool.query(
    `SET fieldmirror.writer = 'repair'; ${text.replaceAll('$', place.stranger.accountId)};
     RESET fieldmirror.writer`,
  );
}

/**
 * A change of the other account in each state, a sweep that waits for a person, an entry of
 * quarantine, schedule, rule and subscriber.
 */
async function makeTheirs(): Promise<typeof theirs> {
  const {pool, stranger} = place;
  const {accountId} = stranger;
  const make = async (number: number, values: string) => {
    const id = await place.edit(number, `phone_number = '${word} ${number}', fax = '${word}'`, {
      accountId,
    });
    if (values !== '') await place.set(id, values);
    return id;
  };
  const done = await make(1, `state = 'done', settled_at = now(), batch = '${word}'`);
  const rejected = await make(2, `state = 'rejected', settled_at = now(), reason = '${word}'`);
  const held = await make(3, `state = 'held', reason = '${word}'`);
  const conflict = await place.make(
    `UPDATE warehouse.jobs SET name = '${word} two' WHERE account_id = ${accountId}
      AND job_number = 11`,
  );
  await place.putInConflict(conflict, {name: `${word} three`});
  const pending = await place.make(
    `UPDATE warehouse.tasks SET name = '${word} four' WHERE account_id = ${accountId} AND id = 61`,
  );
  await pool.query(
    `INSERT INTO sync.alterations (change_id, account_id, field, kind, sent, got, is_stop)
     VALUES ($1, $2, 'fax', 'customers.fax', '"1"', '"${word}"', true)`,
    [done, accountId],
  );
  await pool.query(
    `SELECT sync.set_link('customers', row_id, '${word} key', system)
       FROM warehouse.customers, (VALUES ('default'), ('tryton')) AS known (system)
      WHERE account_id = $1 AND customer_number = 1`,
    [accountId],
  );
  const sweep = await pool.query<{id: string}>(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at,
      reasons)
     VALUES ($1, 'customers', 'full', 'schedule', 'stopped', now(), now(),
       '{"${word} lost too many"}') RETURNING sweep_id AS id`,
    [accountId],
  );
  const entry = await pool.query<{id: string}>(
    `INSERT INTO sync.quarantine (account_id, stream, number, sweep_id, reason, xml, xml_hash)
     VALUES ($1, 'jobs', 5, $2, '${word}', '<job/>', '\\x00') RETURNING quarantine_id AS id`,
    [accountId, sweep.rows[0]?.id],
  );
  await pool.query(
    `INSERT INTO sync.schedules (account_id, name, stream, mode, every_ms, next_due_at)
      VALUES ($1, 'nightly', 'jobs', 'full', 86400000, now())`,
    [accountId],
  );
  await pool.query(
    `INSERT INTO sync.fields (account_id, table_name, field, stream, types, last_sweep_id)
      VALUES ($1, 'jobs', '${word}', 'jobs', '{String}', 1)`,
    [accountId],
  );
  const {rows} = await pool.query(
    `SELECT max(row_id)::text AS id FROM warehouse.customers WHERE account_id = ${accountId}`,
  );
  const ids = {sweep: sweep.rows[0]?.id ?? '', entry: entry.rows[0]?.id ?? '', row: rows[0].id};
  return {pending, held, rejected, conflict, done, ...ids};
}

/** All rows that bear the number of the other account, and what hangs on its changes. */
async function digest(): Promise<string> {
  const parts = [
    ...bearing.map((name) => `SELECT '${name}', t::text FROM ${name} AS t WHERE account_id = $1`),
    ...['attempts', 'conflicts'].map(
      (name) =>
        `SELECT '${name}', t::text FROM sync.${name} AS t JOIN sync.changes USING (change_id)
         WHERE account_id = $1`,
    ),
  ];
  const {rows} = await place.pool.query<{all: string}>(
    `SELECT md5(string_agg(said, E'\\n' ORDER BY said)) AS all
     FROM (SELECT concat_ws(' ', place, row) AS said
      FROM (${parts.join(' UNION ALL ')}) AS held (place, row)) AS told`,
    [place.stranger.accountId],
  );
  return rows[0]?.all ?? '';
}

const authorUrl = () =>
  Object.assign(new URL(place.databaseUrl), {username: author, password: 'made-up'}).href;

/**
 * What was asked for comes back in the words of a refusal: their rows hold more than the bare word.
 */
const withoutEcho = (text: string) => text.replaceAll(/zanzibar(?! \w)/g, '');

describe('the HTTP API with a key of one account', () => {
  type Ask = {readonly path: string; readonly body?: unknown; readonly status: number};
  const all = () => Object.values(theirs).slice(0, 5);
  const asks: Readonly<Record<string, () => readonly Ask[]>> = {
    'GET /v1/changes': () =>
      ['', '?batch=zanzibar', '?state=held', '?external_key=zanzibar', '?table=customers'].map(
        (query) => ({
          path: `/v1/changes${query}`,
          status: 200,
        }),
      ),
    'GET /v1/changes/:change_id': () =>
      all().map((id) => ({path: `/v1/changes/${id}`, status: 404})),
    'POST /v1/changes/decide': () =>
      ['hold', 'release', 'retry', 'cancel', 'accept'].map((decision) => ({
        path: '/v1/changes/decide',
        body: {decision, change_ids: all()},
        status: 200,
      })),
    'POST /v1/changes/undo': () => [
      {path: '/v1/changes/undo', body: {change_ids: all()}, status: 200},
    ],
    'POST /v1/changes': () => [
      {
        path: '/v1/changes',
        body: {operation: 'update', table: 'customers', row_id: theirs.row, fields: {fax: '1'}},
        status: 404,
      },
    ],
    'GET /v1/feed': () =>
      ['', '?account=zanzibar'].map((query) => ({path: `/v1/feed${query}`, status: 0})),
    'GET /v1/feed/place': () => [{path: '/v1/feed/place', status: 200}],
    ...Object.fromEntries(
      allTables.map(({name}) => [
        `GET /v1/${name}`,
        () => [{path: `/v1/${name}?deleted=true&limit=500`, status: 200}],
      ]),
    ),
    ...Object.fromEntries(
      allTables
        .filter(({key: columns}) => columns.length === 1)
        .map(({name}) => [
          `GET /v1/${name}/:number`,
          () => [1, 2, 11, 61].map((number) => ({path: `/v1/${name}/${number}`, status: 0})),
        ]),
    ),
    // Says what there is to ask, and nothing of an account.
    'GET /v1/openapi.json': () => [{path: '/v1/openapi.json', status: 200}],
  };
  const call = async ({path, body}: Ask) => {
    const answer = await fetch(place.url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {authorization: `Bearer ${key}`, 'content-type': 'application/json'},
      ...(body === undefined ? {} : {body: JSON.stringify(body)}),
    });
    return {status: answer.status, text: await answer.text()};
  };

  test('every route is listed in this test', () => {
    const routes = place.routes
      .filter(
        ({method, path}) =>
          path.startsWith('/v1') && /^(?:GET|POST)$/.test(method) && !/\*/.test(path),
      )
      .map(({method, path}) => `${method} ${path}`);
    expect([...new Set(routes)].sort()).toEqual(Object.keys(asks).sort());
  });

  test.each(Object.keys(asks))(
    '%s neither returns nor changes anything of another account',
    async (name) => {
      for (const ask of asks[name]?.() ?? []) {
        const {status, text} = await call(ask);
        if (ask.status !== 0) expect(status, text).toBe(ask.status);
        expect(withoutEcho(text)).not.toContain(word);
      }
    },
  );
});

describe('the console for a person bound to one account', () => {
  /** What a part of an address or a field may name of the other account. */
  const values: Readonly<Record<string, () => readonly string[]>> = {
    account: () => [word, place.stranger.accountId],
    changeId: () => Object.values(theirs).slice(0, 5),
    sweepId: () => [theirs.sweep],
    entry: () => [theirs.entry],
    batch: () => ['1'],
    stream: () => ['customers'],
    number: () => ['1'],
    table: () => ['jobs'],
    field: () => [word],
    question: () => ['unbilled'],
    board: () => ['money'],
    // An admin's alone: rules, subscribers and keys.
    ...Object.fromEntries(['rule', 'hook', 'letter', 'key'].map((name) => [name, () => ['1']])),
  };
  const fill = (path: string): string[] => {
    const [part] = /:\w+/.exec(path) ?? [];
    if (part === undefined) return [path];
    const given = values[part.slice(1)];
    if (given === undefined)
      throw new Error(`${path}: what does ${part} name of the other account?`);
    return given().flatMap((value) => fill(path.replace(part, value)));
  };
  const form = () => ({
    account: word,
    stream: 'customers',
    reason: 'tried',
    numbers: Object.values(theirs).slice(0, 5).join(','),
    choice: 'cancel',
    decision: 'service',
    name: 'mine',
    was: '',
    typed: '1',
  });

  test.each(actions.map(({name}) => name))(
    'does not run the action %s on another account',
    async (name) => {
      const action = actions.find((each) => each.name === name);
      for (const path of fill(action?.path ?? '')) {
        const {text, headers} = await bound.post(path, form());
        expect(withoutEcho(text)).not.toContain(word);
        const to = headers.get('location');
        if (to?.startsWith('/') === true)
          expect(withoutEcho((await bound.get(to)).text)).not.toContain(word);
      }
    },
  );

  test.each(pages.map(({path}) => path))('shows nothing of another account on %s', async (path) => {
    const numbers = Object.values(theirs).slice(0, 5);
    for (const address of fill(path))
      for (const query of [
        `account=${word}`,
        `choice=hold&all=yes&account=${word}`,
        ticked(numbers),
      ]) {
        const {text} = await bound.get(`${address}?${query}`);
        expect(withoutEcho(text), `${address}?${query}`).not.toContain(word);
      }
  });
  const ticked = (numbers: readonly string[]) =>
    `choice=hold&${numbers.map((number) => `c${number}=on`).join('&')}`;

  test('control: a person of all accounts sees these records of the other account', async () => {
    for (const path of [
      ...Object.values(theirs)
        .slice(0, 5)
        .map((id) => `/changes/${id}`),
      `/sweeps/${theirs.sweep}`,
      `/quarantine/${theirs.entry}`,
    ]) {
      expect((await bound.get(path)).status, path).toBe(404);
      expect((await free.get(path)).text, path).toContain(word);
    }
  });
});

describe('a command with --account', () => {
  /**
   * By its name, as it is called for `acme`; `FOLDER` and `URL` are filled in. That of an assistant
   * has its own table, a rehearsal its own test (test/cli/rehearse.pg.test.ts).
   */
  const calls: Readonly<Record<string, string>> = {
    sync: 'sync customers --record 1',
    push: 'push --dry-run',
    ask: 'ask unbilled',
    report: 'report --force',
    'export csv': 'export csv FOLDER/csv',
    'export parquet': 'export parquet FOLDER/parquet',
    status: 'status',
    explain: 'explain customers 1',
    'alerts add': 'alerts add ops --webhook URL/ops',
    forget: 'forget customers 3',
    feed: 'feed',
    'hooks add': 'hooks add erp --url URL/erp',
    'keys add': 'keys add apart --role viewer',
    'sweeps list': 'sweeps list',
    'quarantine list': 'quarantine list',
    'schedules list': 'schedules list',
    'schedules set': 'schedules set nightly --stream jobs --every 2d --at 03:00:00Z',
    'schedules run': 'schedules run nightly',
    'schedules remove': 'schedules remove nightly',
    'changes list': 'changes list',
    'changes hold': 'changes hold --all',
    'changes release': 'changes release --all',
    'changes retry': 'changes retry --all',
    'changes accept': 'changes accept --all',
    'changes cancel': 'changes cancel --all',
    'changes resolve': 'changes resolve --all --take service',
    'changes undo': 'changes undo --all',
    'links list': 'links list customers',
    'links set': 'links set customers 1 P-1',
    'links remove': 'links remove customers 1',
    match: 'match customers --from FOLDER/parties.csv',
    mcp: '',
    rehearse: '',
  };
  /** Nobody knows a token here, and nobody types the name back. */
  const refused = {sync: true, forget: true};
  const verbs = (command: Command, above = ''): string[] =>
    command.commands.flatMap((verb) => {
      const name = `${above}${verb.name()}`;
      const takes = verb.options.some(({long}) => long === '--account');
      return [...(takes ? [name] : []), ...verbs(verb, `${name} `)];
    });

  test('every such command is listed in this test', () => {
    expect(verbs(buildProgram(new AbortController().signal)).sort()).toEqual(
      Object.keys(calls).sort(),
    );
  });

  test('control: without --account, lists, feed and status show every account', async () => {
    for (const call of [
      'changes list',
      'sweeps list',
      'quarantine list',
      'schedules list',
      'feed',
      'status',
    ])
      expect((await runCommand(call.split(' '), env)).stdout, call).toContain(word);
  });

  test.each(Object.entries(calls).filter(([, call]) => call !== ''))(
    '%s neither shows nor changes anything of another account',
    async (name, call) => {
      const words = call.replace('FOLDER', folder).replace('URL', receiver.url).split(' ');
      const {code, stdout, stderr} = await runCommand([...words, '--account', 'acme'], env);
      expect(code, stderr).toBe(name in refused ? 2 : 0);
      expect(stdout).not.toContain(word);
      for (const file of globSync(join(folder, 'csv', '*')))
        expect(readFileSync(file, 'utf8'), file).not.toContain(word);
      for (const other of ['alert_rules', 'feed_hooks', 'api_keys']) {
        const {rows} = await place.pool.query(
          `SELECT FROM sync.${other} WHERE account_id IS DISTINCT FROM $1
         AND name IN ('ops', 'erp', 'apart')`,
          [place.account.accountId],
        );
        expect(rows, other).toEqual([]);
      }
    },
  );
});

describe('isolation of accounts, for an author of one account', () => {
  /**
   * `$` is a change of the other account, `@` that account, `#` a forged copy of the change's row,
   * `~` a row of it.
   */
  const calls: Readonly<Record<string, string>> = {
    wait: `sync.wait($, '0')`,
    hold_change: 'sync.hold_change($)',
    release_change: 'sync.release_change($)',
    retry_change: 'sync.retry_change($)',
    cancel_change: `sync.cancel_change($, 'tried')`,
    accept_change: 'sync.accept_change($)',
    resolve_change: `sync.resolve_change($, 'service')`,
    resolve_fields: `sync.resolve_fields($, '{"name": "service"}')`,
    decide_changes: `(SELECT string_agg(state, '') FROM sync.decide_changes('{$}', 'cancel'))`,
    decide_free: `(SELECT string_agg(state, '') FROM sync.decide_free('{$}', 'cancel', 'tried'))`,
    undo_changes: `(SELECT string_agg(undo_id || coalesce(fields::text, ''), '')
      FROM sync.undo_changes('{$}', NULL, '{$}'))`,
    undo_create: `(sync.undo_create(#, '{$}') IS NULL AND false)`,
    undo_update: '(sync.undo_update(#) IS NULL AND false)',
    changed_since_made: 'sync.changed_since_made($)',
    why_not_undone: `(sync.why_not_undone(#, $) IS NULL AND false)`,
    feed: `(SELECT string_agg(entry_id::text, ',') FROM sync.feed(NULL, 100, NULL, @))`,
    feed_ack: 'sync.feed_ack(sync.feed_end(), NULL, @)',
    feed_place: `(SELECT string_agg(account, ',') FROM sync.feed_place(@))`,
    set_link: `sync.set_link('customers', ~, 'mine')`,
    find_link: `sync.find_link('customers', '${word}', @)`,
    remove_link: `sync.remove_link('customers', ~)`,
    // Of the values or the session alone.
    ...Object.fromEntries(
      ['last_change', 'caller', 'decider', 'feed_end', 'is_equal', 'is_as_left', 'was_theirs'].map(
        (name) => [name, ''],
      ),
    ),
    // For every login: accounts by the role that asks.
    accounts_of: 'nullif(sync.accounts_of(), ARRAY[!]::bigint[])',
    only_account: 'nullif(sync.only_account(), !)',
    systems_of: '(SELECT min(system) FROM sync.systems_of() WHERE account_id <> !)',
    ...Object.fromEntries(
      ['boolean', 'decimal', 'float', 'instant', 'integer'].map((name) => [`read_${name}`, '']),
    ),
    job_state: '',
  };

  test('every function that the author may execute is listed in this test', async () => {
    const {rows} = await place.pool.query<{name: string}>(
      `SELECT DISTINCT proname AS name FROM pg_proc
        WHERE pronamespace::regnamespace::text IN ('sync', 'history', 'mart', 'masked', 'warehouse')
        AND prorettype <> 'trigger'::regtype
          AND has_function_privilege($1, oid, 'EXECUTE')
          AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass
            AND objid = pg_proc.oid AND deptype = 'e')`,
      [author],
    );
    expect(rows.map(({name}) => name).sort()).toEqual(Object.keys(calls).sort());
  });

  test('control: the owner can read the state of a change of the other account', async () => {
    const {rows} = await place.pool.query(`SELECT sync.wait($1, '0') AS state`, [theirs.held]);
    expect(rows).toEqual([{state: 'held'}]);
  });

  test.each(Object.entries(calls).filter(([, call]) => call !== ''))('sync.%s', async (_, call) => {
    for (const id of Object.values(theirs).slice(0, 5)) {
      const {rows: [row] = []} = await place.pool.query<{it: string}>(
        'SELECT quote_literal(to_jsonb(c)::text) AS it FROM sync.changes AS c WHERE change_id = $1',
        [id],
      );
      const forged = `jsonb_populate_record(NULL::sync.changes, (${row?.it})::jsonb)`;
      const filled = call
        .replaceAll('$', id)
        .replaceAll('@', place.stranger.accountId)
        .replaceAll('!', place.account.accountId)
        .replaceAll('~', theirs.row)
        .replaceAll('#', () => forged);
      await withClient(authorUrl(), async (client) => {
        const got = await client.query(`SELECT (${filled})::text AS got`).then(
          ({rows}) => rows[0]?.got ?? '',
          (error: Error) => {
            // Refused on purpose, not for an error of the test.
            expect(error.message, filled).toMatch(
              /no change has that number|of your accounts, got|expected one of your accounts/,
            );
            return '';
          },
        );
        expect(got, filled).toMatch(/^(?:|false|\{\})$/);
      });
    }
  });

  test('every table and view that the author may read shows only one account', async () => {
    const {rows: tables} = await place.pool.query<{name: string}>(
      `SELECT pg_class.oid::regclass::text AS name FROM pg_class
       JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname IN ('warehouse', 'history', 'mart', 'masked', 'sync')
        AND relkind IN ('r', 'v') AND has_table_privilege($1, pg_class.oid, 'SELECT')
          AND has_schema_privilege($1, pg_namespace.oid, 'USAGE')`,
      [author],
    );
    expect(tables.length).toBeGreaterThan(15);
    await withClient(authorUrl(), async (client) => {
      for (const {name} of tables) {
        const {rows} = await client.query(`SELECT t::text AS row FROM ${name} AS t`);
        expect(JSON.stringify(rows), name).not.toContain(word);
      }
    });
  });
});

describe('the MCP server with --account', () => {
  const calls: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
    ask: [{name: 'unbilled'}, {name: 'overdue'}],
    definitions: [{}],
    explain: [
      {stream: 'customers', number: '1'},
      {stream: 'jobs', number: '11'},
    ],
    freshness: [{}],
    query: ['dim_customer', 'fct_job', 'dim_account'].map((name) => ({
      sql: `SELECT * FROM ${name}`,
    })),
    questions: [{}],
  };
  let client: Client;
  beforeAll(async () => {
    client = new Client({name: 'test', version: '1'});
    const args = [main, 'mcp', '--account', 'acme', '--personal'];
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args,
        env: {PATH: process.env.PATH ?? '', FIELDMIRROR_ENV_FILE: '/dev/null', ...env},
      }),
    );
  });
  afterAll(() => client?.close());

  test('every tool is listed in this test', async () => {
    const {tools} = await client.listTools();
    expect(tools.map(({name}) => name).sort()).toEqual(Object.keys(calls).sort());
  });

  test.each(Object.keys(calls))('the tool %s returns nothing of another account', async (name) => {
    for (const given of calls[name] ?? []) {
      const result = await client.callTool({name, arguments: given});
      expect(JSON.stringify(result.content)).not.toContain(word);
    }
  });
});
