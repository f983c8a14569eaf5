// A warehouse whose rules tell a webhook, which takes everything down.

import type {RuleOptions} from '../../src/cli/alerts.ts';
import {openHttpReceiver, type TestReceiver} from './alert-receivers.ts';
import {type AlertsPlace, openAlertsPlace} from './alerts-place.ts';

/** What a message told of one alert. */
export interface Told {
  readonly cause: string;
  readonly news: string;
  readonly account: string | null;
  readonly subject: string;
}

export interface ToldPlace extends AlertsPlace {
  readonly http: TestReceiver;
  /** A rule whose webhook has the path of its name. */
  addHook(name: string, options?: RuleOptions & {readonly accountId?: string}): Promise<string>;
  rounds(count?: number): Promise<void>;
  /** What a rule has told, in the order in which it came. */
  alertsOf(rule: string): Told[];
  /** The same in short: `failed opened`. */
  told(rule?: string): string[];
}

export async function openToldPlace(): Promise<ToldPlace> {
  const http = await openHttpReceiver();
  const place = await openAlertsPlace();
  const alertsOf = (rule: string) =>
    http.arrived
      .filter(({path}) => path === `/${rule}`)
      .flatMap(({body}) => JSON.parse(body).data.alerts as Told[]);
  return {
    ...place,
    http,
    alertsOf,
    addHook: (name, options = {}) =>
      place.addRule(name, {webhook: `${http.url}/${name}`, ...options}),
    rounds: async (count = 2) => {
      for (let at = 0; at < count; at++) await place.round();
    },
    told: (rule = 'ops') => alertsOf(rule).map(({cause, news}) => `${cause} ${news}`),
    close: async () => {
      await place.close();
      await http.close();
    },
  };
}

/** A worker that looked for work then. */
export const addWorker = (seenAt: string, accountIds = '{1}') =>
  `INSERT INTO sync.workers (worker_id, host, pid, version, account_ids, key_ids, seen_at)
   VALUES (gen_random_uuid(), 'host', 1, '0', '${accountIds}', '{}', ${seenAt})`;

/** Gives up every change that is under way. */
export const cancelChanges = `UPDATE sync.changes SET state = 'cancelled', reason = 'x',
  settled_at = now(), lease_until = NULL`;

export const ago = (span: string) => `now() - interval '${span}'`;
