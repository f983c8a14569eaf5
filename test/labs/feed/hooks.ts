// Subscribers of the feed in its model: two workers send to two receivers, one of which fails at
// random, before or after it has taken a message; sessions of the workers are killed. A receiver
// drops repeats by the ids of entries, as an ERP does.

import type pg from 'pg';
import {planHook} from '../../../src/cli/hooks.ts';
import {createLogger} from '../../../src/core/log.ts';
import {parseKeys} from '../../../src/core/secret.ts';
import {insertHook} from '../../../src/feed/hooks.ts';
import {FeedKeeper} from '../../../src/feed/send-hooks.ts';
import {openPool} from '../../../src/postgres/database.ts';
import type {Random} from '../../../src/service/vocabulary.ts';
import {type Arrived, openHttpReceiver, type TestReceiver} from '../../support/alert-receivers.ts';
import type {Noted} from './written.ts';

const applicationName = 'feed model';
const workers = 2;
const failShare = 0.3;
const names = ['steady', 'failing'] as const;

type Name = (typeof names)[number];

export class Hooks {
  readonly noted: Readonly<Record<Name, Noted[]>> = {steady: [], failing: []};
  /** When the steady receiver first heard of a value, by the clock of `performance`. */
  readonly heardAt = new Map<string, number>();
  /** Messages that came again, and sessions that were killed. */
  repeats = 0;
  kills = 0;
  /** A message that came again with another body. */
  readonly violations: string[] = [];
  readonly #bodies = new Map<string, string>();
  readonly #seen = new Set<string>();
  readonly #random: Random;
  readonly #receiver: TestReceiver;
  readonly #pools: pg.Pool[] = [];
  readonly #keepers: FeedKeeper[] = [];

  private constructor(random: Random, receiver: TestReceiver) {
    this.#random = random;
    this.#receiver = receiver;
    receiver.manners = (arrived) => this.#take(arrived);
  }

  static async open(admin: pg.Pool, url: string, random: Random): Promise<Hooks> {
    const receiver = await openHttpReceiver();
    const hooks = new Hooks(random, receiver);
    const keys = parseKeys(Buffer.alloc(32, 3).toString('base64'));
    for (const name of names) {
      const asked = {
        url: `${receiver.url}/${name}`,
        table: ['tasks'],
        column: [],
        leaveOut: [],
        limit: 100,
        mask: false,
      };
      await insertHook(admin, {
        ...planHook({keys, allowsHttp: false}, name, asked).plan,
        accountId: null,
      });
    }
    for (let at = 0; at < workers; at++) {
      const pool = openPool(url, {max: 4, applicationName});
      const log = createLogger({level: 'silent', secrets: []});
      const means = {keys, allowsHttp: false, onSecret: () => {}};
      const keeper = new FeedKeeper({pool, log, directUrl: url, means, holds: () => false});
      keeper.begin();
      hooks.#pools.push(pool);
      hooks.#keepers.push(keeper);
    }
    return hooks;
  }

  /** Kills a session of a worker, and lets the lease that it may have left behind lapse. */
  async kill(admin: pg.Pool): Promise<void> {
    const {rowCount} = await admin.query(
      `SELECT pg_terminate_backend(pid) FROM (
         SELECT pid FROM pg_stat_activity WHERE application_name = $1
         AND datname = current_database() ORDER BY random() LIMIT 1) AS one`,
      [applicationName],
    );
    this.kills += rowCount ?? 0;
    await this.pass(admin);
  }

  /** Time passes: leases lapse, tries that wait are due. */
  async pass(admin: pg.Pool): Promise<void> {
    await admin.query(
      `UPDATE sync.feed_hooks SET due_at = least(due_at, now()),
        lease_until = CASE WHEN lease_until IS NOT NULL THEN now() END
        WHERE due_at > now() OR lease_until IS NOT NULL`,
    );
    for (const keeper of this.#keepers) keeper.wake();
  }

  /** Sends until both receivers have taken all that has a position. */
  async drain(admin: pg.Pool): Promise<void> {
    for (let behind = 1; behind > 0; ) {
      await this.pass(admin);
      await Promise.all(this.#keepers.map((keeper) => keeper.settled()));
      const {rows} = await admin.query<{behind: number}>(
        `SELECT count(*)::integer AS behind FROM sync.feed_hooks, sync.feed_state
          WHERE cursor <> sync.feed_end() OR EXISTS (SELECT FROM sync.feed_entries
            WHERE position IS NULL)`,
      );
      behind = rows[0]?.behind ?? 0;
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#keepers.map((keeper) => keeper.stop()));
    await Promise.all(this.#pools.map((pool) => pool.end()));
    await this.#receiver.close();
  }

  #take({path, headers, body}: Arrived): number | undefined {
    const name = names.find((each) => path === `/${each}`) ?? 'steady';
    const isFailing = name === 'failing';
    if (isFailing && this.#random.isTrue(failShare)) return 503;
    const id = String(headers['webhook-id']);
    const held = this.#bodies.get(id);
    if (held !== undefined) this.repeats += 1;
    if (held !== undefined && held !== body)
      this.violations.push(`${id} came again with another body`);
    this.#bodies.set(id, body);
    for (const entry of JSON.parse(body).data.entries) this.#note(name, entry);
    return isFailing && this.#random.isTrue(failShare) ? 500 : undefined;
  }

  #note(
    name: Name,
    entry: {
      id: string;
      row_id: string;
      operation: string;
      before: {name?: string} | null;
      after: {name?: string} | null;
    },
  ): void {
    const {id, row_id: rowId, operation} = entry;
    if (this.#seen.has(`${name} ${id}`)) return;
    this.#seen.add(`${name} ${id}`);
    const token = entry.after?.name ?? null;
    this.noted[name].push({id, rowId, operation, token, before: entry.before?.name ?? null});
    if (name === 'steady' && token !== null) this.heardAt.set(token, performance.now());
  }
}
