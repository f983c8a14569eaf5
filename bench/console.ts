// npm run bench:console [-- --rows 1000000] [-- --changes 100000]: how fast the pages of the
// console answer on a large warehouse. Each page is asked for by addresses that nobody asked for
// before, so that no reading is shared, but for the pages of the business, whose answers are kept:
// for these the first request, which counts, has a column of its own. Beside it: the weight of each
// page, how soon an open page is told of a change, and what fifty open pages cost the database. It
// reports; it asserts nothing.

import {once} from 'node:events';
import {request} from 'node:http';
import {parseArgs} from 'node:util';
import type pg from 'pg';
import {addApiKey, openSession} from '../src/accounts/access.ts';
import {upsertAccount} from '../src/accounts/accounts.ts';
import {openServer} from '../src/console/server.ts';
import {formatTable} from '../src/core/format.ts';
import {createLogger} from '../src/core/log.ts';
import {openPools} from '../src/http/api.ts';
import {openPool} from '../src/postgres/database.ts';
import {toQuestionWord} from '../src/star/answer.ts';
import {boards} from '../src/star/boards.ts';
import {refreshStar} from '../src/star/mart.ts';
import {questions} from '../src/star/star.ts';
import {migrateWarehouse, startPostgres} from '../test/support/own-postgres.ts';
import {percentile} from '../test/support/percentile.ts';
import {plainConsole} from '../test/support/plain-console.ts';
import {SetUp} from '../test/support/set-up.ts';
import {fillLarge} from './load/large-warehouse.ts';

const {values} = parseArgs({
  options: {
    rows: {type: 'string', default: '1000000'},
    changes: {type: 'string', default: '100000'},
  },
});
const [rowCount, changeCount] = [Number(values.rows), Number(values.changes)];
const timesEach = 40;
/** A page that is slow is asked for fewer times, and at least these. */
const mostMsEach = 20_000;
const fewestTimes = 3;
const openPages = 50;
/** The console looks whether its data moved once in such a time. */
const watchedMs = 30_000;

/** Addresses of a page, each another one. */
const pages: Readonly<Record<string, (at: number) => string>> = {
  overview: (at) => `/?n=${at}`,
  sweeps: (at) => `/sweeps?n=${at}`,
  'one sweep': (at) => `/sweeps/${1 + (at % 900)}`,
  changes: (at) => `/changes?n=${at}`,
  'changes of a state': (at) => `/changes?state=done&n=${at}`,
  'one change': (at) => `/changes/${1 + ((at * 7919) % changeCount)}`,
  'one record': (at) =>
    `/records/jobs/${1 + ((at * 104_729) % Math.max(1, Math.floor(rowCount / 2)))}`,
  'search by number': (at) => `/records?q=${1 + at}`,
  'search by name': (at) => `/records?q=Wren+Marlow+${at}`,
  fields: (at) => `/fields?n=${at}`,
  accounts: (at) => `/accounts?n=${at}`,
  business: (at) => `/business?n=${at}`,
  'one customer': (at) =>
    `/records/customers/${1 + ((at * 104_729) % Math.max(1, Math.floor(rowCount / 2)))}`,
  'preview of a decision': (at) => `/changes/preview?choice=release&state=held&all=yes&n=${at}`,
  'preview of an undo': (at) => `/changes/undo?c${1 + ((at * 7919) % changeCount)}=on`,
  'forget a customer': (at) => `/records/customers/${1 + at}/forget`,
  match: (at) => `/match?n=${at}`,
  'settings, labels, capacity': (at) => `/settings?n=${at}`,
  quarantine: (at) => `/quarantine?n=${at}`,
  alerts: (at) => `/alerts?n=${at}`,
  health: (at) => `/health?n=${at}`,
  'one entry of quarantine': (at) => `/quarantine/1?n=${at}`,
  'search of documents': (at) => `/docs?q=key+${at}`,
  ...Object.fromEntries(
    [
      ...boards.map(({name}) => ({label: `board: ${name}`, path: `/business/${name}`})),
      ...questions.map((question) => ({
        label: `question: ${toQuestionWord(question)}`,
        path: `/business/ask/${toQuestionWord(question)}`,
      })),
    ].map(({label, path}) => [label, (at: number) => `${path}?n=${at}`]),
  ),
};

let statements = 0;
const setUp = new SetUp();
const {postgres} = await startPostgres(setUp, 'bench-console');
const databaseUrl = await postgres.url('warehouse');
const pool = await setUp.step(
  'making the warehouse',
  async () => openPool(databaseUrl, {max: 4, applicationName: 'bench', statementTimeoutMs: 0}),
  (opened) => opened.end(),
);
try {
  await migrateWarehouse(databaseUrl);
  const account = await upsertAccount(pool, {
    name: 'bench',
    apiUrl: 'https://example.com/bench',
    timeZone: 'UTC',
  });
  process.stdout.write(`filling a warehouse with ${rowCount} rows and ${changeCount} changes\n`);
  await fillLarge(pool, {accountId: account.accountId, rows: rowCount, changes: changeCount});
  await refreshStar(pool);
  await pool.query(
    `INSERT INTO mart.settings (account_key, currency, working_hours)
     VALUES ($1, 'USD', '{8,8,8,8,8,0,0}')`,
    [account.accountId],
  );
  // As it is at night's end: autovacuum would be at work beside the first pages.
  await pool.query('VACUUM (ANALYZE)');
  const pools = openPools(databaseUrl);
  // A statement of a page takes a connection of its own.
  pools.reads.on('acquire', () => statements++);
  const log = createLogger({level: 'silent', secrets: []});
  const server = await openServer({
    pools,
    log,
    host: '127.0.0.1',
    port: 0,
    console: plainConsole(databaseUrl),
  });
  const cookie = await signIn(pool);
  const rows: (readonly [string, ...number[]])[] = [];
  const all: number[] = [];
  for (const [name, addressOf] of Object.entries(pages)) {
    const {times, kilobytes} = await measure(server.url, cookie, addressOf);
    const [first = 0, ...later] = times;
    const figures = [first, ...[0.5, 0.95, 1].map((share) => percentile(later, share)), kilobytes];
    rows.push([name, ...figures.map((each) => Math.round(each))]);
    all.push(...times);
  }
  const head = ['page', 'first ms', 'then median', '95 %', 'slowest', 'kB'];
  process.stdout.write(`\n${formatTable(head, rows)}\n`);
  const most = Math.round(percentile(all, 0.95));
  process.stdout.write(`all ${all.length} requests, the first ones too: 95 % within ${most} ms\n`);
  process.stdout.write(`${await watch(server.url, cookie)}\n`);
  await server.close();
  await pools.close();
} finally {
  await setUp.end();
}

async function signIn(db: pg.Pool): Promise<string> {
  await addApiKey(db, {name: 'bench', accountId: null, role: 'admin', masks: false});
  const session = {
    wayIn: 'link',
    apiKeyId: null,
    name: 'bench',
    role: 'admin',
    accountId: null,
    masks: false,
  } as const;
  return `fieldmirror=${(await openSession(db, {...session, address: '127.0.0.1'})).reveal()}`;
}

async function measure(
  url: string,
  cookie: string,
  addressOf: (at: number) => string,
): Promise<{times: number[]; kilobytes: number}> {
  const [times, sizes]: [number[], number[]] = [[], []];
  const until = performance.now() + mostMsEach;
  for (let at = 0; at < timesEach; at++) {
    const began = performance.now();
    if (began > until && at >= fewestTimes) break;
    const answer = await fetch(url + addressOf(at), {headers: {cookie}});
    const body = await answer.arrayBuffer();
    if (answer.status >= 400)
      throw new Error(`${addressOf(at)}: expected a page, got ${answer.status}`);
    times.push(performance.now() - began);
    sizes.push(body.byteLength);
  }
  return {times, kilobytes: Math.max(...sizes) / 1000};
}

/** Opens pages that look again whenever they are told to, while changes come in. */
async function watch(url: string, cookie: string): Promise<string> {
  let told = 0;
  const looks: Promise<unknown>[] = [];
  const streams = Array.from({length: openPages}, () => {
    const stream = request(
      `${url}/live?of=changes,sweeps&since=${Date.now()}`,
      {headers: {cookie}},
      (answer) => {
        answer.on('data', (part: Buffer) => {
          if (!part.toString().includes('event: moved')) return;
          told = performance.now();
          looks.push(
            fetch(`${url}/changes`, {headers: {cookie}}).then((page) => page.arrayBuffer()),
          );
        });
        answer.on('error', () => {});
      },
    );
    stream.on('error', () => {});
    stream.end();
    return stream;
  });
  await Promise.all(streams.map((stream) => once(stream, 'response')));
  const before = statements;
  const delays: number[] = [];
  const until = performance.now() + watchedMs;
  while (performance.now() < until) {
    const made = performance.now();
    await pool.query(`UPDATE sync.changes SET reason = 'again' WHERE change_id = 1`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    delays.push(told - made);
  }
  const each = (statements - before) / (watchedMs / 1000) / openPages;
  for (const stream of streams) stream.destroy();
  await Promise.all(looks);
  const delay = Math.round(Math.max(...delays));
  return (
    `an open page was told after ${delay} ms at most; ${openPages} open pages, ` +
    `a change each second: ${each.toFixed(2)} statements a second for each`
  );
}
