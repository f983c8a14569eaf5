// A warehouse whose feed is sent to a receiver. Time passes by moving the instants in the rows.

import type pg from 'pg';
import {type HookOptions, planHook} from '../../src/cli/hooks.ts';
import {createLogger} from '../../src/core/log.ts';
import {parseKeys} from '../../src/core/secret.ts';
import {type FeedHook, insertHook, listHooks} from '../../src/feed/hooks.ts';
import {FeedKeeper} from '../../src/feed/send-hooks.ts';
import {openPool} from '../../src/postgres/database.ts';
import {type Arrived, openHttpReceiver, type TestReceiver} from '../support/alert-receivers.ts';
import {type FeedPlace, openFeedPlace} from './place.ts';

export const keyText = Buffer.alloc(32, 5).toString('base64');

export interface HookPlace extends FeedPlace {
  readonly http: TestReceiver;
  /** Whether the warehouse may be a copy. */
  isHeld: boolean;
  /** @returns the secret that signs */
  addHook(
    name: string,
    options?: Partial<HookOptions> & {readonly accountId?: string},
  ): Promise<string>;
  hook(name: string): Promise<FeedHook>;
  /** A worker looks, and sends until there is no more. */
  round(): Promise<void>;
  /** Time passes: leases lapse, tries that wait are due. */
  pass(): Promise<void>;
  makeKeeper(pool?: pg.Pool): FeedKeeper;
  /** The same with no more rights than those of a worker. */
  roundAsWorker(): Promise<void>;
}

export async function openHookPlace(): Promise<HookPlace> {
  const feed = await openFeedPlace();
  const http = await openHttpReceiver();
  const keys = parseKeys(keyText);
  const keepers: FeedKeeper[] = [];
  const place: HookPlace = {
    ...feed,
    http,
    isHeld: false,
    addHook: async (name, {accountId = null, ...options} = {}) => {
      await feed.end();
      const asked = {
        url: `${http.url}/${name}`,
        table: [],
        column: [],
        leaveOut: [],
        limit: 100,
        mask: false,
        ...options,
      };
      const {plan, secret} = planHook({keys, allowsHttp: false}, name, asked);
      await insertHook(feed.pool, {...plan, accountId});
      return secret;
    },
    hook: async (name) => {
      const hook = (await listHooks(feed.pool)).find((each) => each.name === name);
      if (hook === undefined) throw new Error(`expected a subscriber ${name}, got none`);
      return hook;
    },
    makeKeeper: (pool = feed.pool) => {
      const keeper = new FeedKeeper({
        pool,
        directUrl: feed.url,
        log: createLogger({level: 'silent', secrets: []}),
        means: {keys, allowsHttp: false, onSecret: () => {}},
        holds: () => place.isHeld,
      });
      keepers.push(keeper);
      return keeper;
    },
    round: async () => {
      const keeper = place.makeKeeper();
      keeper.wake();
      await keeper.settled();
    },
    roundAsWorker: async () => {
      const url = new URL(feed.url);
      url.searchParams.set('options', '-c role=fieldmirror_worker');
      const pool = openPool(url.href, {max: 2, applicationName: 'test'});
      const keeper = place.makeKeeper(pool);
      keeper.wake();
      await keeper.settled();
      await keeper.stop();
      await pool.end();
    },
    pass: async () => {
      await feed.pool.query(
        `UPDATE sync.feed_hooks SET due_at = due_at - interval '2 hours',
          lease_until = lease_until - interval '2 hours'`,
      );
    },
    close: async () => {
      await Promise.all(keepers.map((keeper) => keeper.stop()));
      await http.close();
      await feed.close();
    },
  };
  return place;
}

/** One message as its receiver reads it. */
export interface Message {
  readonly id: unknown;
  /** The new names of the rows that it tells of. */
  readonly names: readonly unknown[];
  readonly entryIds: readonly string[];
  readonly cursor: string;
}

export function readMessage({headers, body}: Arrived): Message {
  const {data} = JSON.parse(body);
  return {
    id: headers['webhook-id'],
    names: data.entries.map(({after}: {after: {name?: unknown} | null}) => after?.name),
    entryIds: data.entries.map(({id}: {id: string}) => id),
    cursor: data.cursor,
  };
}
