// A service that repeats the token in every disguise, and the doors through which its words reach a
// person.

import type {ServerResponse} from 'node:http';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {addApiKey} from '../../src/accounts/access.ts';
import {openServer} from '../../src/console/server.ts';
import {createLogger} from '../../src/core/log.ts';
import {Secret} from '../../src/core/secret.ts';
import {openPools} from '../../src/http/api.ts';
import {pushAccount} from '../../src/push/push.ts';
import {runCommand} from '../support/command.ts';
import {plainConsole} from '../support/plain-console.ts';
import {job, list, scriptService} from '../support/scripted-service.ts';
import {openWorld, type TestWorld} from '../support/world.ts';
import {all, disguises, shows} from './disguises.ts';

const token = 'Kanari-7%2F+x&<abc9';
const xml = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

type Answer = (response: ServerResponse, path: string, method: string) => boolean;

let world: TestWorld;
let answer: Answer;
let close: () => Promise<void>;

beforeAll(async () => {
  const service = await scriptService((request, response) =>
    answer(response, request.url ?? '', request.method ?? ''),
  );
  world = await openWorld({...service, token});
  close = async () => {
    await world.close();
    await service.close();
  };
});
afterAll(async () => await close());

/** What a sweep says that meets the answer: its row, and its result. */
async function sweepWith(given: Answer): Promise<string> {
  answer = given;
  const result = await world.sweep('jobs');
  const said = 'error' in result ? `${result.error.stack} ${result.error}` : JSON.stringify(result);
  const {rows} = await world.pool.query('SELECT * FROM sync.sweeps ORDER BY sweep_id DESC LIMIT 1');
  await world.pool.query(
    `UPDATE sync.sweeps SET state = 'failed', ended_at = now() WHERE ended_at IS NULL`,
  );
  return `${JSON.stringify(rows)} ${said}`;
}

const refusals: Readonly<Record<string, (shown: string) => Answer>> = {
  'the words of a refusal': (shown) => (response) => {
    response.writeHead(500).end(`<errors><error>no access for ${xml(shown)}!</error></errors>`);
    return true;
  },
  'the plain text of a refusal': (shown) => (response) => {
    response
      .writeHead(500, {'content-type': 'text/plain; charset=utf-8'})
      .end(`no access for ${shown}!`);
    return true;
  },
};

const headers: Readonly<Record<string, (shown: string) => Answer>> = {
  'the name of an encoding': (shown) => (response) => {
    response.setHeader('content-type', `application/xml; charset="${shown}"`);
    response.end('<jobs/>');
    return true;
  },
  'the name of a coding': (shown) => (response) => {
    response.setHeader('content-encoding', shown);
    response.end('<jobs/>');
    return true;
  },
};

describe('the error of a sweep does not show a token that the service returned', () => {
  test.each(Object.entries(refusals))('in %s', async (_where, toAnswer) => {
    for (const [name, wear] of all.filter((_, at) => at % 5 === 0 || at < disguises.length)) {
      const shown = wear(token);
      const said = await sweepWith(toAnswer(shown));
      expect(said).toContain('got 500');
      expect(shows(said, shown), name).toBe(false);
    }
  });

  test.each(Object.entries(headers))('in a header, as %s', async (_where, toAnswer) => {
    for (const [name, wear] of disguises) {
      const shown = wear(token).replaceAll(/[^\x21-\x7e]|["\\]/g, '');
      if (shown.length < token.length) continue;
      const said = await sweepWith(toAnswer(shown));
      expect(shows(said, shown), name).toBe(false);
    }
  });

  test('in the name of an element', async () => {
    const tried: string[] = [];
    for (const [name, wear] of disguises) {
      const shown = wear(token);
      if (!/^[\w.-]+$/.test(shown)) continue;
      const said = await sweepWith((response) => {
        response.end(`<x${shown}/>`);
        return true;
      });
      expect(said).toContain('an element <x');
      expect(shows(said, shown), name).toBe(false);
      tried.push(name);
    }
    expect(tried).toContain('in hex');
  });
});

test('a record in quarantine and its reason do not show the token', async () => {
  const bad = (number: number, shown: string) =>
    job(number, `<subtotal type="decimal">=${xml(shown)}</subtotal>`);
  const records = all.map(([, wear], at) => bad(at + 1, wear(token)));
  answer = (response, path) => {
    if (path.startsWith('/jobs.xml') && path.includes('page=1'))
      response.end(list('jobs', records));
    else {
      const at = Number(/^\/jobs\/(\d+)/.exec(path)?.[1]) - 1;
      const record = records[at];
      if (record === undefined) return false;
      response.end(record);
    }
    return true;
  };
  await world.sweep('jobs');
  const {rows} = await world.pool.query('SELECT * FROM sync.quarantine ORDER BY number');
  for (const [at, [name, wear]] of all.entries())
    if (!rows.some((r) => Number(r.number) === at + 1)) console.log('MISSING', name, wear(token));
  expect(rows).toHaveLength(all.length);
  for (const [at, [name, wear]] of all.entries())
    expect(shows(`${rows[at].reason} ${rows[at].xml}`, wear(token)), name).toBe(false);
});

test('no log line shows the token', () => {
  const lines: string[] = [];
  const secrets = [new Secret(token)];
  const log = createLogger({
    level: 'debug',
    secrets,
    destination: {write: (line) => void lines.push(line)},
  });
  for (const [name, wear] of all) {
    const shown = wear(token);
    log.warn({reason: `got ${shown}`, inner: {list: [shown]}}, `sent ${shown}`);
    const line = lines.pop() ?? '';
    expect(() => JSON.parse(line), name).not.toThrow();
    expect(shows(line, shown), name).toBe(false);
  }
});

test('a refused change does not show the token in the database, the API or the CLI', async () => {
  const {pool, databaseUrl, account} = world;
  const worn = all.filter((_, at) => at % 5 === 0 || at < disguises.length);
  answer = (response, _path, method) => {
    if (method !== 'POST') return false;
    const [name, wear] = worn[next++] ?? ['', () => ''];
    sent.push([name, wear(token)]);
    response.writeHead(422).end(`<errors><error>No ${xml(wear(token))} here</error></errors>`);
    return true;
  };
  let next = 0;
  const sent: [string, string][] = [];
  await pool.query(
    `INSERT INTO warehouse.tasks (name) SELECT 'task ' || n FROM generate_series(1, $1) AS n`,
    [worn.length],
  );
  await pushAccount(world, account.accountId, new AbortController().signal);
  const {rows} = await pool.query(
    `SELECT change_id, state, to_jsonb(c)
     || jsonb_build_object('attempts', (SELECT jsonb_agg(to_jsonb(a)) FROM sync.attempts AS a
            WHERE a.change_id = c.change_id)) AS held FROM sync.changes AS c ORDER BY change_id`,
  );
  expect(rows).toHaveLength(worn.length);
  expect(sent).toHaveLength(worn.length);
  const held = JSON.stringify(rows);
  expect(held.match(/No \[secret\]/g)?.length).toBeGreaterThan(worn.length / 2);
  for (const [name, shown] of sent) expect(shows(held, shown), name).toBe(false);
  const key = await addApiKey(pool, {
    name: 'erp',
    accountId: account.accountId,
    role: 'viewer',
    masks: false,
  });
  const pools = openPools(databaseUrl, {lockTimeoutMs: 1_000});
  const log = createLogger({level: 'silent', secrets: []});
  const server = await openServer({
    pools,
    log,
    host: '127.0.0.1',
    port: 0,
    console: plainConsole(databaseUrl),
  });
  const told: string[] = [];
  for (const {change_id: id} of rows) {
    const story = await fetch(`${server.url}/v1/changes/${id}`, {
      headers: {authorization: `Bearer ${key?.reveal()}`},
    });
    expect(story.status).toBe(200);
    told.push(await story.text());
  }
  await server.close();
  await pools.close();
  for (const {change_id: id} of rows.slice(0, 3)) {
    const {code, stdout} = await runCommand(['changes', 'show', id], {DATABASE_URL: databaseUrl});
    expect(code).toBe(0);
    expect(stdout).toContain('[secret]');
    told.push(stdout);
  }
  for (const [name, shown] of sent) expect(shows(told.join('\n'), shown), name).toBe(false);
});
