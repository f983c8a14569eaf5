// A console with something on each of its pages.

import {upsertAccount} from '../../src/accounts/accounts.ts';
import {planFilledRule} from '../../src/cli/http.ts';
import {clearUp} from '../../src/cli/retention.ts';
import {plainConsole} from '../support/plain-console.ts';
import {type ChangesPlace, openPlace} from './changes-place.ts';

/** An address for every page of the console. */
export const addresses: Readonly<Record<string, string>> = {
  '/': '/',
  '/business': '/business',
  '/business/:board': '/business/owner',
  '/business/ask/:question': '/business/ask/revenue-by-week',
  '/sweeps': '/sweeps',
  '/sweeps/:sweepId': '/sweeps/1',
  '/quarantine': '/quarantine',
  '/quarantine/:entry': '/quarantine/1',
  '/changes': '/changes',
  '/changes/preview': '/changes/preview?choice=hold&state=pending&all=yes',
  '/changes/undo': '/changes/undo?all=yes',
  '/changes/:changeId': '/changes/1',
  '/records': '/records?q=Acme',
  '/records/:stream/:number': '/records/jobs/11?account=acme',
  '/records/customers/:number/forget': '/records/customers/1/forget?account=acme',
  '/match': '/match',
  '/fields': '/fields',
  '/accounts': '/accounts',
  '/alerts': '/alerts',
  '/settings': '/settings',
  '/health': '/health',
};

/** @param hostile - a text of the service that would be markup */
export async function openBrowserPlace(hostile: string): Promise<ChangesPlace> {
  const place: ChangesPlace = await openPlace({
    services: {
      ...plainConsole().services,
      checkAccount: async (name) => `good ${name}: answers`,
      tryAccount: async ({name, url, timeZone}) => ({
        keep: (db) => upsertAccount(db, {name, apiUrl: url ?? '', timeZone: timeZone ?? 'UTC'}),
        describe: () => `account ${name} is added`,
      }),
      examine: async () => [
        {what: 'alerts', state: 'warning', found: `messages do not arrive: ${hostile}`},
      ],
      listSettings: async () => [
        {name: 'FIELDMIRROR_HOME', value: '.fieldmirror', source: 'default', file: null},
        {
          name: `schedules / acme / ${hostile} / every`,
          value: '1h',
          source: 'file',
          file: 'fieldmirror.yaml',
        },
      ],
      planRule: async (rule) => planFilledRule({keys: [], allowsHttp: false}, rule),
      testRule: async (name) => `${name} took it: 250.`,
      sendLetter: async (hook, letterId) => `${hook} took dead letter ${letterId}: 200.`,
      clearUpForgotten: async (forgotten) => await clearUp(place.databaseUrl, forgotten),
    },
  });
  const {accountId} = place.account;
  const query = (text: string, values: readonly unknown[]) => place.pool.query(text, [...values]);
  await query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, stage, due_at,
      started_at, ended_at, records, pages, requests, evidence)
     SELECT $1, 'jobs', 'full', 'schedule', 'certified', 'verify', began - interval '2 seconds',
       began, began + interval '1 minute', 3000, 100, 226,
            jsonb_build_object('readAt', began + interval '40 seconds')
       FROM (SELECT now() - interval '1 hour' AS began
         UNION ALL SELECT now() - interval '50 minutes') AS night`,
    [accountId],
  );
  await query(
    `INSERT INTO sync.fields (account_id, table_name, field, stream, types, last_sweep_id)
      VALUES ($1, 'jobs', 'custom_text1', 'jobs', '{text}', 1)`,
    [accountId],
  );
  await query(
    `INSERT INTO sync.quarantine (account_id, stream, number, sweep_id, page, reason, xml, xml_hash)
     VALUES ($1, 'jobs', 12, 1, 2, $2, $3, '')`,
    [
      accountId,
      `jobs 12: field subtotal: expected a number, got ${hostile}`,
      `<job><name>${hostile}</name></job>`,
    ],
  );
  await query(
    `INSERT INTO sync.alert_rules (name, receiver, target, quiet_ms)
      VALUES ('desk', 'email', 'ops@example.com', 0)`,
    [],
  );
  await query(
    `INSERT INTO sync.alerts (cause, account_id, stream, since, text, next_step)
     VALUES ('quarantine', $1, 'jobs', now() - interval '3 hours', $2,
       'fieldmirror quarantine list shows what is wrong with them')`,
    [accountId, `1 record in quarantine ${hostile}`],
  );
  await query(
    `INSERT INTO sync.alert_deliveries (rule_id, alert_id, kind, state, attempts, fence, last_error)
     SELECT rule_id, alert_id, 'opened', 'due', 4, 4, $1 FROM sync.alert_rules
     CROSS JOIN sync.alerts`,
    [`mail.example.com: ${hostile}`],
  );
  await query(
    `WITH hook AS (
       INSERT INTO sync.feed_hooks (name, target, sealed_access, key_id, tables, cursor, batch_id,
         batch_to, attempts, failing_since, stopped_at, last_error)
       VALUES ('erp', 'erp.example.com', '', 'key', '{customers,jobs}', sync.feed_end(),
         gen_random_uuid(), sync.feed_end(), 34, now() - interval '1 day', now(), $1)
       RETURNING hook_id, cursor)
     INSERT INTO sync.feed_dead_letters (hook_id, batch_id, after_cursor, to_cursor, attempts,
       reason, failing_since)
     SELECT hook_id, gen_random_uuid(), cursor, cursor, 34, $1, now() - interval '2 days' FROM hook
     CROSS JOIN generate_series(1, 2)`,
    [`erp.example.com: expected an answer of 2xx, got 422: ${hostile}`],
  );
  await place.edit(1, `name = '${hostile.replaceAll("'", "''")}'`);
  return place;
}
