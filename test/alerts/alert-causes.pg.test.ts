// Each cause: reported once when it opens, and once when it is resolved.

import {afterEach, beforeEach, describe, expect, inject, test} from 'vitest';
import {causes} from '../../src/core/errors.ts';
import {parseKeys} from '../../src/core/secret.ts';
import {failedSweep, keyText} from '../support/alerts-place.ts';
import {
  addWorker,
  ago,
  cancelChanges,
  openToldPlace,
  type ToldPlace,
} from '../support/told-place.ts';
import {withClient} from '../support/with-client.ts';

let place: ToldPlace;

beforeEach(async () => {
  place = await openToldPlace();
});

afterEach(() => place.close());

const addSchedule = (dueAt: string) =>
  `INSERT INTO sync.schedules (account_id, name, stream, mode, every_ms, next_due_at)
   VALUES (1, 'nightly', 'jobs', 'full', 86400000, ${dueAt})`;
const addChange = (...steps: readonly string[]) => [
  `INSERT INTO warehouse.customers (name) VALUES ('New')`,
  ...steps.map((values) => `UPDATE sync.changes SET ${values}`),
];
const addEvent = (kind: string) =>
  `INSERT INTO sync.field_events (account_id, table_name, field, kind, detail, sweep_id)
    VALUES (1, 'jobs', 'colour', '${kind}', 'a text', 1)`;
const addSweep = (values: string) =>
  `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at,
    reasons, error) VALUES (1, 'jobs', 'full', 'schedule', ${values})`;
const certified = addSweep(`'certified', now(), now(), '{}', NULL`);

/** One problem, and how it is resolved. */
const cases: Readonly<Record<string, readonly [breaks: string | readonly string[], ends: string]>> =
  {
    copy: [
      `INSERT INTO sync.installation (system_identifier, database_oid, server_started_at, names)
      VALUES ('1', 1, now(), '{db:5432/warehouse}')`,
      'DELETE FROM sync.installation',
    ],
    'stopped-account': [
      `UPDATE sync.accounts SET state = 'stopped', state_reason = '401'`,
      `UPDATE sync.accounts SET state = 'active', state_reason = NULL`,
    ],
    unserved: [addWorker('now()', '{}'), `UPDATE sync.workers SET account_ids = '{1}'`],
    'no-worker': [addWorker(ago('3 hours')), 'UPDATE sync.workers SET seen_at = now()'],
    overdue: [addSchedule(ago('2 days')), 'DELETE FROM sync.schedules'],
    unproven: [
      [
        `UPDATE sync.accounts SET created_at = ${ago('90 days')}`,
        addSchedule(`now() + interval '1 hour'`),
      ],
      certified,
    ],
    failed: [failedSweep.breaks, failedSweep.ends],
    approval: [addSweep(`'stopped', now(), now(), '{many}', NULL`), certified],
    'no-room': [
      addSweep(`'due', NULL, NULL, '{}', 'no room on the disk'`),
      `UPDATE sync.sweeps SET error = NULL`,
    ],
    quarantine: [
      `INSERT INTO sync.quarantine (account_id, stream, reason, xml, xml_hash)
      VALUES (1, 'jobs', 'x', '<job/>', 'x')`,
      'UPDATE sync.quarantine SET resolved_at = now()',
    ],
    'hook-failing': [
      `INSERT INTO sync.feed_hooks (name, target, sealed_access, key_id, cursor, attempts,
      failing_since, last_error)
     VALUES ('erp', 'example.com', '\\x00', '${parseKeys(keyText)[0]?.id}', sync.feed_end(), 3,
       now(), 'example.com: 500')`,
      'UPDATE sync.feed_hooks SET attempts = 0, failing_since = NULL, last_error = NULL',
    ],
    'change-conflict': [addChange(`state = 'conflict', reason = 'both'`), cancelChanges],
    'change-rejected': [
      addChange(`state = 'rejected', reason = 'no', settled_at = now()`),
      `UPDATE sync.changes SET settled_at = ${ago('8 days')}`,
    ],
    'change-altered': [
      [
        ...addChange(),
        `INSERT INTO sync.alterations (account_id, change_id, field, kind, sent, got, is_stop)
        VALUES (1, 1, 'name', 'customers.name', '"a"', '"b"', false)`,
      ],
      'UPDATE sync.alterations SET accepted_at = now(), accepted_by = current_user',
    ],
    'change-in-doubt': [
      addChange(
        `state = 'sending', sends = 1, sent_at = ${ago('3 hours')}, lease_until = now()`,
        `state = 'in_doubt', reason = 'no answer', lease_until = NULL`,
      ),
      `UPDATE sync.changes SET state = 'pending', reason = NULL`,
    ],
    'change-failing': [addChange(`failures = 4, requested_at = ${ago('1 hour')}`), cancelChanges],
    'change-untaken': [addChange(`due_at = ${ago('1 hour')}`), cancelChanges],
    'change-held': [addChange(`state = 'held', requested_at = ${ago('8 days')}`), cancelChanges],
    drift: [addEvent('vanished'), addEvent('returned')],
    'part-late': [
      `INSERT INTO sync.heartbeats (worker_id, part, good_at)
      VALUES (gen_random_uuid(), 'feed', ${ago('2 minutes')})`,
      'UPDATE sync.heartbeats SET good_at = now()',
    ],
    'not-delivered': [
      [
        addSchedule(`now() + interval '1 hour'`),
        certified,
        `INSERT INTO sync.delivery_targets (name, place, added_at)
        VALUES ('lake', '/srv/lake', ${ago('31 hours')})`,
      ],
      `INSERT INTO sync.snapshots (target, name, known_as_of, sweep_ids, files, rows, bytes,
       manifest_sha256, broken_ties)
     VALUES ('lake', '2026-10-31T031245.123Z', now(), '{1}', 23, 1, 1, '', '{}')`,
    ],
    'report-unsent': [
      [
        `INSERT INTO sync.report_lists (name, addresses, weekday, at)
        VALUES ('owners', '{a@example.com}', 1, '06:00')`,
        `INSERT INTO sync.report_mails (list, account_id, week, address, attempts, last_error)
        VALUES ('owners', 1, '2026-10-26', 'a@example.com', 3, 'mail.example.com: 550')`,
      ],
      `UPDATE sync.report_mails SET state = 'sent', sent_at = now(), last_error = NULL`,
    ],
    'star-behind': [
      `INSERT INTO sync.stale_jobs (account_id, job_numbers, noted_at)
      VALUES (1, '{1}', ${ago('1 hour')})`,
      'DELETE FROM sync.stale_jobs',
    ],
  };

describe('each cause is reported once when it opens and once when it is resolved', () => {
  test.each(Object.entries(cases))('%s', async (cause, [breaks, ends]) => {
    await place.addHook('ops');
    for (const statement of [breaks].flat()) await place.query(statement);
    await place.rounds(3);
    expect(place.told()).toEqual([`${cause} opened`]);
    await place.query(ends);
    await place.rounds(3);
    expect(place.told()).toEqual([`${cause} opened`, `${cause} resolved`]);
  });

  test('overdue: a promised freshness is missed although its sweeps run on schedule', async () => {
    await place.addHook('ops');
    await place.query(
      `INSERT INTO sync.schedules (account_id, name, stream, mode, window_name, every_ms,
        next_due_at)
       VALUES (1, 'jobs fresh', 'jobs', 'window', 'whole_list', 3600000,
         now() + interval '1 hour')`,
    );
    const look = (began: string, endedBy: string) =>
      `INSERT INTO sync.sweeps (account_id, stream, mode, window_name, requested_by, state, due_at,
        started_at, ended_at, reasons, evidence)
       VALUES (1, 'jobs', 'window', 'whole_list', 'schedule', 'uncertified', ${began}, ${began},
         ${began}, '{a reason}',
               '{"firstPass": {"lastPage": 1, "endedBy": "${endedBy}", "numbers": 1}}')`;
    await place.rounds(2);
    expect(place.told()).toEqual([]);
    await place.query(look(ago('2 hours'), 'empty-page'));
    await place.query(look(ago('1 hour'), 'repeated-page'));
    await place.rounds(3);
    expect(place.told()).toEqual(['overdue opened']);
    expect(place.alertsOf('ops')[0]).toMatchObject({account: 'acme', subject: 'jobs fresh'});
    await place.query(look(ago('1 minute'), 'empty-page'));
    await place.rounds(3);
    expect(place.told()).toEqual(['overdue opened', 'overdue resolved']);
  });

  test('growth', async () => {
    await place.addHook('ops');
    for (const bounds of ['database=1MB', 'database=1MB', 'database=9TB,sync.sweeps=1GB', null])
      await place.round({bounds});
    expect(place.told()).toEqual(['growth opened', 'growth resolved']);
    expect(place.alertsOf('ops')[0]).toMatchObject({account: null, subject: 'database'});
  });

  test('alerts-failing: reported by every rule except the failing one', async () => {
    await place.addHook('ops');
    await place.addHook('broken', {cause: ['failed', 'alerts-failing']});
    place.http.manners = ({path}) => (path === '/broken' ? 500 : undefined);
    await place.query(failedSweep.breaks);
    for (let at = 0; at < 5; at++) {
      await place.round();
      await place.pass('90 minutes');
    }
    expect(place.told()).toEqual(['failed opened', 'alerts-failing opened']);
    expect(place.alertsOf('ops')[1]).toMatchObject({subject: 'broken'});
    place.http.manners = () => undefined;
    await place.rounds();
    expect(place.told()).toEqual([
      'failed opened',
      'alerts-failing opened',
      'alerts-failing resolved',
    ]);
    expect(new Set(place.told('broken'))).toEqual(new Set(['failed opened']));
  });

  test('held-up: reported even if a lock keeps the alert check from a table', async () => {
    await place.addHook('ops');
    await place.query(failedSweep.breaks);
    await place.rounds();
    const {username, password} = new URL(inject('superuserUrl'));
    // A login whose transactions ours may not look into.
    const url = Object.assign(new URL(place.url), {username, password}).href;
    await withClient(url, async (client) => {
      await client.query(`SET application_name = 'DBeaver'; BEGIN; LOCK TABLE sync.sweeps`);
      await place.rounds(2);
      expect(place.told()).toEqual(['failed opened', 'held-up opened']);
      const {rows} = await client.query<{pid: number}>('SELECT pg_backend_pid() AS pid');
      const [alert] = await place.query(
        `SELECT subject, text FROM sync.alerts WHERE cause = 'held-up'`,
      );
      expect(alert).toEqual({
        subject: String(rows[0]?.pid),
        text: expect.stringContaining('which has locked sync.sweeps'),
      });
    });
    await place.rounds(3);
    expect(place.told()).toEqual(['failed opened', 'held-up opened', 'held-up resolved']);
  });

  test('the cases cover every cause', () => {
    expect([...Object.keys(cases), 'growth', 'alerts-failing', 'held-up'].toSorted()).toEqual(
      [...causes].toSorted(),
    );
  });
});
