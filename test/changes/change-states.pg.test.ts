// The states of a change: the database follows the drawing of its life, and so does the document
// that shows it.

import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type ChangeState, changeStates, openStates, transitions} from '../../src/changes/states.ts';
import {type CaptureWorld, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
  await world.author(`INSERT INTO warehouse.tasks (name) VALUES ('Call back')`);
});
afterAll(() => world?.close());

/** All values that a change needs in any state. */
const put = (state: ChangeState) => `
  UPDATE sync.changes SET state = '${state}', number = 7, reason = 'why', sends = 1,
    sent_at = now(), lease_until = now(),
         settled_at = CASE WHEN '${state}' IN ('done', 'rejected', 'cancelled') THEN now() END`;
const add = (state: ChangeState) => `
  INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base, state,
    reason, sends, sent_at, lease_until, settled_at)
  VALUES (${world.accountId}, 'tasks', 99, 'update', 99, '{"name": "x"}', '{}', '${state}', 'why',
    1, now(), now(),
          CASE WHEN '${state}' IN ('done', 'rejected', 'cancelled') THEN now() END)`;
/** Puts a change into the state from which a test begins; no trigger runs. */
const force = (state: ChangeState) =>
  `SET LOCAL session_replication_role = 'replica'; ${put(state)};
     SET LOCAL session_replication_role = 'origin'`;

/** Runs a statement on a change in some state, and takes both back. */
async function attempt(
  statement: string,
  before = '',
): Promise<readonly Record<string, unknown>[]> {
  const client = await world.pool.connect();
  try {
    await client.query(`BEGIN; ${before}`);
    return (await client.query(statement)).rows;
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

async function isAllowed(statement: string, before = ''): Promise<boolean> {
  try {
    await attempt(statement, before);
    return true;
  } catch (error) {
    expect(error).toMatchObject({code: '23514', constraint: 'change_transitions'});
    return false;
  }
}

test('is_open is true in the open states and in no other', async () => {
  const open: ChangeState[] = [];
  for (const state of changeStates) {
    const [change] = await attempt('SELECT is_open FROM sync.changes', force(state));
    if (change?.is_open) open.push(state);
  }
  expect(open).toEqual(openStates);
});

describe('a transition of a change', () => {
  const followers = (from: string) =>
    transitions.filter((drawn) => drawn.from === from).map(({to}) => to);

  test.each(changeStates)(
    'from %s is accepted only if it is in the list of transitions',
    async (from) => {
      const allowed: ChangeState[] = [];
      for (const to of changeStates) if (await isAllowed(put(to), force(from))) allowed.push(to);
      expect(allowed.sort()).toEqual([from, ...followers(from)].sort());
    },
  );

  test('into the first state is accepted only if it is in the list of transitions', async () => {
    const allowed: ChangeState[] = [];
    for (const to of changeStates) if (await isAllowed(add(to))) allowed.push(to);
    expect(allowed.sort()).toEqual(followers('new').sort());
  });

  test('that is not in the list fails with the states that may follow', async () => {
    await expect(attempt(put('pending'), force('done'))).rejects.toThrow(
      /^change \d+: expected nothing after done, got pending$/,
    );
    await expect(attempt(put('in_doubt'))).rejects.toThrow(
      new RegExp(
        '^change \\d+: expected cancelled or conflict or done or held or rejected or sending ' +
          'after pending, got in_doubt$',
      ),
    );
  });
});

describe('docs/write-back.md', () => {
  const document = readFileSync(join(import.meta.dirname, '../../docs/write-back.md'), 'utf8');
  const drawing = /```mermaid\nstateDiagram-v2\n(.*?)```/s.exec(document)?.[1] ?? '';
  const arrows = [...drawing.matchAll(/^ {2}(\S+) --> (\S+?)(?:: (.*))?$/gm)].map(
    ([, from, to, why]) => ({
      from,
      to,
      why,
    }),
  );

  test('draws the transitions of the database with the same reasons', async () => {
    const drawn = arrows
      .filter(({to}) => to !== '[*]')
      .map((arrow) => ({...arrow, from: arrow.from?.replace('[*]', 'new')}));
    const held = await world.author(
      'SELECT from_state AS "from", to_state AS "to", why FROM sync.change_transitions',
    );
    const inOrder = (list: readonly object[]) => list.map((arrow) => JSON.stringify(arrow)).sort();
    expect(inOrder(drawn)).toEqual(inOrder(held));
  });

  test('draws an end after each state that nothing follows', () => {
    const ends = changeStates.filter((state) => transitions.every(({from}) => from !== state));
    expect(arrows.filter(({to}) => to === '[*]').map(({from}) => from)).toEqual(ends);
  });

  test('has only arrows in its diagram', () => {
    expect(drawing.trim().split('\n')).toHaveLength(arrows.length);
  });
});
