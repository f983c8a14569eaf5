// What is kept for ever unless somebody chooses, and what was told and who looked.

import {expect, test} from 'vitest';
import {setRetention} from '../../src/retention/retention.ts';
import {asSweep, ids, pool, pruneNow, useRetentionPlace} from './place.ts';

useRetentionPlace();

const names = () =>
  ids('SELECT name AS id FROM history.customers WHERE customer_number = 1 ORDER BY valid_from');

/**
 * The first customer had three names before: one for a hundred days, one for forty, one until now.
 */
async function makeVersions() {
  for (const [name, days] of [
    ['One', 100],
    ['Two', 40],
    ['Three', 1],
  ] as const) {
    await asSweep(`UPDATE warehouse.customers SET name = '${name}' WHERE customer_number = 1`);
    await pool.query(
      `UPDATE history.past_customers SET valid_to = now() - interval '${days} days',
        _changed_at = now() - interval '${days + 50} days'
        WHERE valid_to > now() - interval '1 hour'`,
    );
  }
}

test('versions are kept forever by default', async () => {
  await makeVersions();
  expect(await pruneNow()).toEqual({});
  expect(await names()).toHaveLength(4);
});

test('versions replaced before the chosen time are pruned, and pruned_to records it', async () => {
  await makeVersions();
  await setRetention(pool, 'versions', 60);
  expect(await pruneNow()).toEqual({versions: 1});
  expect(await names()).toEqual(['One', 'Two', 'Three']);
  const {rows} = await pool.query(
    `SELECT now() - pruned_to BETWEEN interval '60 days' AND interval '60 days 1 minute' AS right
     FROM sync.retention WHERE kind = 'versions'`,
  );
  expect(rows).toEqual([{right: true}]);
});

test('pruning a version also deletes the record of its author', async () => {
  await pool.query(
    `BEGIN; SET LOCAL fieldmirror.writer = 'repair'; UPDATE warehouse.customers SET name = 'By hand'
      WHERE customer_number = 1; COMMIT`,
  );
  await asSweep(`UPDATE warehouse.customers SET name = 'Later' WHERE customer_number = 1`);
  await pool.query(
    `UPDATE history.past_customers SET valid_to = valid_to - interval '90 days',
      _changed_at = _changed_at - interval '90 days'`,
  );
  await pool.query(`UPDATE history.edits SET at = at - interval '90 days' WHERE kind = 'update'`);
  await setRetention(pool, 'versions', 31);
  expect(await pruneNow()).toEqual({versions: 2});
  expect(await ids(`SELECT at AS id FROM history.edits WHERE kind = 'update'`)).toEqual([]);
});

test('resolved alerts are pruned with their messages after 90 days; open ones stay', async () => {
  await pool.query(
    `INSERT INTO sync.alert_rules (name, receiver, target, quiet_ms)
      VALUES ('ops', 'email', 'ops@example.com', 0);
     INSERT INTO sync.alerts (cause, subject, since, text, opened_at, resolved_at)
     SELECT 'growth', age::text, now(), 'large', now() - interval '300 days',
       CASE WHEN age > 0 THEN now() - age * interval '1 day' END
       FROM unnest(ARRAY[0, 89, 91]) AS age;
     INSERT INTO sync.alert_deliveries (rule_id, alert_id, kind) SELECT rule_id, alert_id, 'opened'
       FROM sync.alert_rules, sync.alerts`,
  );
  expect(await pruneNow()).toEqual({alerts: 1});
  expect(
    await ids(
      `SELECT subject AS id FROM sync.alerts JOIN sync.alert_deliveries USING (alert_id)
        ORDER BY 1`,
    ),
  ).toEqual(['0', '89']);
});

test('the audit is kept unless a limit is set; sessions are pruned after 90 days', async () => {
  await pool.query(
    `INSERT INTO sync.audit (at, name, role, address, action, subject) SELECT now() - interval
      '400 days', 'ops', 'admin', '127.0.0.1', 'pause', 'acme';
     INSERT INTO sync.sessions (token_hash, way_in, name, role, masks, address, expires_at)
     SELECT sha256(days::text::bytea), 'link', days::text, 'admin', false, '127.0.0.1',
       now() - days * interval '1 day' FROM unnest(ARRAY[89, 91]) AS days`,
  );
  expect(await pruneNow()).toEqual({sessions: 1});
  expect(await ids('SELECT name AS id FROM sync.sessions')).toEqual(['89']);
  await setRetention(pool, 'audit', 365);
  expect(await pruneNow()).toEqual({audit: 1});
});

test('reports are pruned after two years, except due ones and the last of each list', async () => {
  await pool.query(
    `INSERT INTO sync.report_lists (name, addresses, weekday, at)
      VALUES ('owners', '{anna@example.com}', 1, '06:00');
     INSERT INTO sync.report_mails (list, account_id, week, address, state, made_at, sent_at)
     SELECT 'owners', account_id, current_date - days, 'anna@example.com', mail.state,
       now() - days * interval '1 day', CASE mail.state WHEN 'sent' THEN now() END
       FROM sync.accounts, (VALUES (729, 'sent'), (731, 'sent'), (738, 'due'), (745, 'sent'))
         AS mail (days, state);
     INSERT INTO mart.reported (account_key, week, metric, value, known_as_of, list)
     SELECT account_id, '2020-01-06', 'revenue', days, now() - days * interval '1 day', list
       FROM sync.accounts, (VALUES (729, 'owners'), (731, 'owners'), (738, 'owners'), (738, ''))
         AS told (days, list)`,
  );
  const told = () =>
    ids(`SELECT list || ' ' || value AS id FROM mart.reported ORDER BY list, value`);
  const mails = () =>
    ids(`SELECT (current_date - week) || ' ' || state AS id FROM sync.report_mails ORDER BY week`);
  expect(await pruneNow()).toEqual({reports: 4});
  expect(await mails()).toEqual(['738 due', '729 sent']);
  expect(await told()).toEqual([' 738', 'owners 729']);
  await setRetention(pool, 'reports', 31);
  expect(await pruneNow()).toEqual({});
  expect(await mails()).toEqual(['738 due', '729 sent']);
});

test('keeping settled changes for only 30 days is rejected', async () => {
  await expect(setRetention(pool, 'settled_changes', 30)).rejects.toThrow(
    'retention_kept_for_check',
  );
});
