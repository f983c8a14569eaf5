// A warehouse with one account and rules that tell of it. Time passes by moving the instants in the
// rows.

import type pg from 'pg';
import {inject} from 'vitest';
import {insertRule} from '../../src/alerts/alerts.ts';
import {planRule, type RuleOptions} from '../../src/cli/alerts.ts';
import {type AlertDeps, checkForProblems, sendAlerts} from '../../src/cli/start-parts.ts';
import {createLogger} from '../../src/core/log.ts';
import {parseKeys, Secret} from '../../src/core/secret.ts';
import {openPool} from '../../src/postgres/database.ts';
import {createDatabase} from './postgres.ts';

export const keyText = Buffer.alloc(32, 9).toString('base64');

export interface AlertsPlace {
  readonly url: string;
  readonly pool: pg.Pool;
  readonly accountId: string;
  /** Every line that was logged. */
  readonly logged: readonly string[];
  /** @returns the secret of a webhook */
  addRule(name: string, options: RuleOptions & {readonly accountId?: string}): Promise<string>;
  /** A look, whenever the last was, and what is due is sent. */
  round(more?: Partial<AlertDeps['config']>): Promise<void>;
  /** The same with no more rights than those of a role. */
  roundAs(role: string): Promise<void>;
  /** Time passes: leases lapse, quiet times end, tries that wait are due. */
  pass(span: string): Promise<void>;
  query(text: string, values?: readonly unknown[]): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** @param smtpUrl - the server of e-mail of the worker's environment */
export async function openAlertsPlace(smtpUrl: string | null = null): Promise<AlertsPlace> {
  const database = await createDatabase(inject('warehouseTemplate'));
  const pool = openPool(database.url, {max: 8, applicationName: 'test'});
  const query = async (text: string, values: readonly unknown[] = []) =>
    (await pool.query(text, [...values])).rows;
  const [account] = await query(
    `INSERT INTO sync.accounts (name, api_url, time_zone)
      VALUES ('acme', 'https://example.com/acme', 'UTC') RETURNING account_id AS id`,
  );
  const logged: string[] = [];
  const log = createLogger({
    level: 'debug',
    secrets: [],
    destination: {write: (line) => void logged.push(line)},
  });
  const config = {
    keys: parseKeys(keyText),
    bounds: null,
    databaseUrl: database.url,
    directUrl: null,
    home: '',
    smtpUrl: smtpUrl === null ? null : new Secret(smtpUrl),
    allowsHttp: false,
    allowsLinkLocal: false,
  };
  const round = async (as: pg.Pool, means: AlertDeps['config']) => {
    await query(`UPDATE sync.alert_checks SET checked_at = now() - interval '2 minutes'`);
    const deps = {pool: as, log, config: means, onSecret: () => {}};
    await checkForProblems(deps);
    await sendAlerts(deps);
  };
  return {
    url: database.url,
    pool,
    accountId: String(account?.id),
    logged,
    query,
    addRule: async (name, {accountId = null, ...options}) => {
      const {plan, secret} = planRule(config, name, options);
      await insertRule(pool, {...plan, accountId});
      return secret ?? '';
    },
    round: (more = {}) => round(pool, {...config, ...more}),
    roundAs: async (role) => {
      const url = new URL(database.url);
      url.searchParams.set('options', `-c role=${role}`);
      const confined = openPool(url.href, {max: 2, applicationName: 'test'});
      await round(confined, config).finally(() => confined.end());
    },
    pass: async (span) => {
      await query(
        `UPDATE sync.alert_deliveries SET due_at = due_at - $1::interval,
          lease_until = lease_until - $1::interval,
                sent_at = sent_at - $1::interval, created_at = created_at - $1::interval`,
        [span],
      );
      await query(
        `UPDATE sync.alerts SET opened_at = opened_at - $1::interval,
          resolved_at = resolved_at - $1::interval`,
        [span],
      );
    },
    close: async () => {
      await pool.end();
      await database.drop();
    },
  };
}

/** Statements that make one thing wrong, and mend it. */
export const failedSweep = {
  breaks: `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at,
    ended_at, error)
           VALUES (1, 'jobs', 'full', 'schedule', 'failed', now(), now(), 'GET /jobs.xml: 500')`,
  ends: `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at,
    ended_at)
          VALUES (1, 'jobs', 'full', 'schedule', 'certified', now(), now())`,
};
