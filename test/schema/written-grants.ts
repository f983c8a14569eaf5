// Every right that a role was given on any object, written down by hand.

import {members, ofMoments, star} from './written-star.ts';

/** Rights by the name of their object. */
export type Rights = Readonly<Record<string, string>>;

const tables = [
  'contacts',
  'customer_notes',
  'customers',
  'employees',
  'job_charges',
  'job_employees',
  'job_notes',
  'job_statuses',
  'job_types',
  'jobs',
  'tasks',
  'tax_entities',
  'time_entries',
];
const all = (rights: string, ...names: readonly string[]): Rights =>
  Object.fromEntries(names.map((name) => [name, rights]));
/** The form for each table, whose name replaces the star. */
export const each = (form: string) => tables.map((name) => form.replace('*', name));

const read = 'SELECT';
const write = 'DELETE, INSERT, SELECT, UPDATE';
const past: Rights = all(
  read,
  ...star.map((name) => `mart.${name}`),
  'history.edits',
  'mart.wanted',
  ...each('history.*'),
  ...each('history.past_*'),
  ...each('mart.*'),
);
const asOf = all(
  'EXECUTE',
  ...each('history.*_as_of(timestamp with time zone)'),
  ...each('history.all_*_as_of(timestamp with time zone)'),
  ...ofMoments.map((name) => `mart.${name}_as_of(timestamp with time zone)`),
);
const deciding = [
  'sync.caller()',
  'sync.accept_change(bigint)',
  'sync.cancel_change(bigint,text)',
  'sync.changed_since_made(bigint)',
  'sync.decide_changes(bigint[],text,text)',
  'sync.decide_free(bigint[],text,text)',
  'sync.decider()',
  'sync.hold_change(bigint)',
  'sync.last_change()',
  'sync.release_change(bigint)',
  'sync.resolve_change(bigint,text)',
  'sync.resolve_fields(bigint,jsonb)',
  'sync.retry_change(bigint)',
  'sync.undo_changes(bigint[],text,bigint[])',
  'sync.undo_create(sync.changes,bigint[])',
  'sync.undo_update(sync.changes)',
  'sync.is_as_left(sync.changes,text,text,jsonb)',
  'sync.is_equal(text,jsonb,jsonb)',
  'sync.wait(bigint,interval)',
  'sync.was_theirs(sync.changes,text)',
  'sync.why_not_undone(sync.changes,bigint)',
];

const linking = [
  'sync.find_link(text,text,bigint,text)',
  'sync.remove_link(text,bigint,text)',
  'sync.set_link(text,bigint,text,text)',
];

const reading = [
  'sync.feed(text,integer,text[],bigint,text[],text,text[],boolean)',
  'sync.feed_end()',
];

const placing = ['sync.feed_ack(text,jsonb,bigint,text)', 'sync.feed_place(bigint,text)'];

interface Given {
  readonly schema: Rights;
  readonly table: Rights;
  readonly sequence: Rights;
  readonly function: Rights;
}
const nothing: Given = {schema: {}, table: {}, sequence: {}, function: {}};

/** Role, kind of thing, thing: its rights. */
export const expected: Readonly<Record<string, Given>> = {
  PUBLIC: {
    ...nothing,
    function: all(
      'EXECUTE',
      `mart.job_state(text,${Array(7).fill('timestamp with time zone').join(',')})`,
      'sync.accounts_of(name)',
      'sync.only_account()',
      'sync.read_boolean(text)',
      'sync.read_decimal(text)',
      'sync.read_float(text)',
      'sync.read_instant(text)',
      'sync.read_integer(text)',
      'sync.systems_of(name)',
    ),
  },
  fieldmirror_reader: {
    ...nothing,
    schema: all('USAGE', 'warehouse', 'history', 'mart', 'sync'),
    table: {...past, ...all(read, ...each('warehouse.*'))},
    function: {...asOf, ...all('EXECUTE', ...reading)},
  },
  fieldmirror_author: {
    ...nothing,
    schema: all('USAGE', 'warehouse', 'sync'),
    table: {
      ...all('DELETE, SELECT, UPDATE', ...each('warehouse.*')),
      ...all(
        read,
        'sync.alterations',
        'sync.attempts',
        'sync.captured_tables',
        'sync.change_transitions',
        'sync.changes',
        'sync.conflicts',
        'sync.links',
        'sync.write_rules',
      ),
    },
    function: all('EXECUTE', ...deciding, ...linking, ...reading, ...placing),
  },
  fieldmirror_assistant: {
    ...nothing,
    schema: all('USAGE', 'mart', 'masked'),
    table: all(
      read,
      ...['dim_date', 'dim_job_state'].map((name) => `mart.${name}`),
      ...members.map((name) => `masked.${name}`),
    ),
    function: all('EXECUTE', 'sync.assistant_account()', 'sync.assistant_names()'),
  },
  fieldmirror_worker: {
    schema: all('USAGE', 'warehouse', 'history', 'mart', 'masked', 'sync'),
    table: {
      ...past,
      ...all(write, ...each('warehouse.*')),
      ...all(
        write,
        'sync.absent_numbers',
        'sync.alert_deliveries',
        'sync.alert_rules',
        'sync.alerts',
        'sync.conflicts',
        'sync.api_requests',
        'sync.feed_dead_letters',
        'sync.feed_hooks',
        'sync.heartbeats',
        'sync.known_pages',
        'sync.known_records',
        'sync.schedules',
        'sync.sessions',
        'sync.sign_in_codes',
        'sync.sightings',
        'sync.tombstones',
        'sync.workers',
      ),
      ...all(
        'INSERT, SELECT, UPDATE',
        'sync.accounts',
        'sync.alert_checks',
        'sync.alterations',
        'sync.attempts',
        'sync.api_keys',
        'sync.fields',
        'sync.installation',
        'sync.prunings',
        'sync.quarantine',
        'sync.report_mails',
        'sync.sweeps',
      ),
      ...all(
        'INSERT, SELECT',
        'mart.reported',
        'sync.audit',
        'sync.field_events',
        'sync.weekly_reports',
      ),
      'mart.closed_days': write,
      'mart.settings': 'INSERT, SELECT, UPDATE',
      'sync.stale_jobs': 'DELETE, SELECT',
      'sync.delivery_targets': 'SELECT, UPDATE',
      'sync.snapshots': 'DELETE, INSERT, SELECT',
      'sync.changes': 'SELECT, UPDATE',
      ...all(
        read,
        'sync.captured_tables',
        'sync.change_transitions',
        'sync.deletion_limits',
        'sync.edit_limits',
        'sync.feed_entries',
        'sync.feed_starts',
        'sync.feed_state',
        'sync.forgotten',
        'sync.links',
        'sync.migrations',
        'sync.report_lists',
        'sync.retention',
        'sync.source',
        'sync.sweep_days',
        'sync.write_rules',
      ),
    },
    sequence: all(
      read,
      ...each('warehouse.*_row_id_seq'),
      'sync.accounts_account_id_seq',
      'sync.alert_deliveries_delivery_id_seq',
      'sync.alert_rules_rule_id_seq',
      'sync.alerts_alert_id_seq',
      'sync.alterations_alteration_id_seq',
      'sync.attempts_attempt_id_seq',
      'sync.audit_audit_id_seq',
      'sync.changes_change_id_seq',
      'sync.conflicts_conflict_id_seq',
      'sync.api_keys_api_key_id_seq',
      'sync.feed_dead_letters_letter_id_seq',
      'sync.feed_entries_entry_id_seq',
      'sync.feed_hooks_hook_id_seq',
      'sync.field_events_event_id_seq',
      'sync.forgotten_forgotten_id_seq',
      'sync.links_link_id_seq',
      'sync.migrations_id_seq',
      'sync.quarantine_quarantine_id_seq',
      'sync.report_mails_mail_id_seq',
      'sync.schedules_schedule_id_seq',
      'sync.sessions_session_id_seq',
      'sync.stale_jobs_note_id_seq',
      'sync.sweep_days_sweep_day_id_seq',
      'sync.sweeps_sweep_id_seq',
    ),
    function: {
      ...asOf,
      ...all(
        'EXECUTE',
        ...deciding,
        ...linking,
        ...reading,
        ...placing,
        'sync.close_change(bigint,text,text)',
        'sync.count_prunable(text,timestamp with time zone)',
        'sync.move_links(bigint,text,bigint,bigint)',
        'sync.is_copy()',
        'sync.is_forgotten(jsonb)',
        'sync.fill_star(text[])',
        'sync.gather_statistics()',
        'sync.join_versions(timestamp with time zone,timestamp with time zone,integer)',
        'sync.prune(text,integer,timestamp with time zone)',
        'sync.renew_feed()',
        'sync.bind_assistant(bigint,boolean)',
        'sync.read_as_assistant(text,integer,integer)',
        'sync.refresh_star(text[])',
        'sync.seen_position()',
        'sync.sequence_feed(integer)',
        'sync.wanted(text,jsonb)',
        'sync.write_as_worker()',
      ),
    },
  },
};
