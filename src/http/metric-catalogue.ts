// Every metric of Fieldmirror, by the question that it answers. A label is a name that a person
// gave an account or a target, or one of our own words. It is never the number of a record, nor
// anything that the service sent.

export const metricQuestions = {
  fresh: 'Is the data fresh?',
  schedule: 'Did the schedule fire?',
  load: 'Is the load healthy?',
  service: 'Is the service content with us?',
  wayBack: 'Is the way back flowing?',
  shape: 'Has the source changed shape?',
  process: 'Is the process well?',
} as const;

export interface Metric {
  readonly question: keyof typeof metricQuestions;
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

const streamLabels = ['account', 'stream'] as const;

/** Metrics read from the rows of the warehouse: every process shows the same figures. */
export const warehouseCatalogue = {
  accountState: {
    question: 'fresh',
    name: 'fieldmirror_account_state',
    type: 'gauge',
    labels: ['account', 'state'],
    help: '1 for the state of the account (active, paused, stopped), 0 for the others.',
  },
  provenAge: {
    question: 'fresh',
    name: 'fieldmirror_stream_proven_age_seconds',
    type: 'gauge',
    labels: streamLabels,
    help:
      'How old the stream can be at worst: since the last certified sweep began. ' +
      'Absent if none was ever certified.',
  },
  promisedFreshness: {
    question: 'fresh',
    name: 'fieldmirror_stream_promised_freshness_seconds',
    type: 'gauge',
    labels: streamLabels,
    help:
      'How old the rows of the stream may become during the day. ' +
      'Absent if no freshness was set.',
  },
  wholeListAge: {
    question: 'fresh',
    name: 'fieldmirror_stream_whole_list_age_seconds',
    type: 'gauge',
    labels: streamLabels,
    help:
      'Since the whole list was last read, or since freshness was first set. ' +
      'Absent if no freshness was set.',
  },
  unproven: {
    question: 'fresh',
    name: 'fieldmirror_stream_unproven',
    type: 'gauge',
    labels: streamLabels,
    help: '1 if no sweep of the stream was ever certified, else 0.',
  },
  fullSweepAge: {
    question: 'fresh',
    name: 'fieldmirror_full_sweep_age_seconds',
    type: 'gauge',
    labels: streamLabels,
    help: 'Since the last full sweep ended, with any result.',
  },
  fullSweepDuration: {
    question: 'fresh',
    name: 'fieldmirror_full_sweep_duration_seconds',
    type: 'gauge',
    labels: streamLabels,
    help: 'How long the last full sweep took, waiting included.',
  },
  fullSweepState: {
    question: 'fresh',
    name: 'fieldmirror_full_sweep_state',
    type: 'gauge',
    labels: ['account', 'stream', 'state'],
    help:
      '1 for how the last full sweep ended (certified, uncertified, stopped, failed), ' +
      '0 for the others.',
  },
  starWait: {
    question: 'fresh',
    name: 'fieldmirror_star_wait_seconds',
    type: 'gauge',
    labels: [],
    help:
      'How long the oldest change has waited to be written into the star of mart; ' +
      '0 if none waits.',
  },
  deliveryAge: {
    question: 'fresh',
    name: 'fieldmirror_delivery_age_seconds',
    type: 'gauge',
    labels: ['target'],
    help: 'Since the last snapshot was delivered. Before the first: since the target was added.',
  },
  deliveryFailures: {
    question: 'fresh',
    name: 'fieldmirror_delivery_failures',
    type: 'gauge',
    labels: ['target'],
    help: 'How many deliveries in a row have failed; 0 after one that succeeded.',
  },
  reportAge: {
    question: 'fresh',
    name: 'fieldmirror_report_age_seconds',
    type: 'gauge',
    labels: ['list'],
    help: 'Since a mail of the weekly report was last sent, or since the list was added.',
  },
  reportsUnsent: {
    question: 'fresh',
    name: 'fieldmirror_reports_unsent',
    type: 'gauge',
    labels: ['list'],
    help: 'Mails of the weekly report that are to be sent, or were given up within eight days.',
  },
  deliveryBytes: {
    question: 'fresh',
    name: 'fieldmirror_delivery_bytes',
    type: 'gauge',
    labels: ['target'],
    help: 'Bytes of the last snapshot that was delivered. Absent before the first.',
  },
  overdue: {
    question: 'schedule',
    name: 'fieldmirror_schedule_overdue_seconds',
    type: 'gauge',
    labels: ['account', 'stream', 'mode'],
    help:
      'How long a schedule has waited that has not run for two of its intervals; ' +
      '0 if no schedule does.',
  },
  nextDue: {
    question: 'schedule',
    name: 'fieldmirror_schedule_next_due_timestamp_seconds',
    type: 'gauge',
    labels: ['account', 'stream', 'mode'],
    help: 'When the next sweep is due by schedule, in seconds since 1970.',
  },
  workersAlive: {
    question: 'schedule',
    name: 'fieldmirror_workers_alive',
    type: 'gauge',
    labels: [],
    help: 'Workers that have checked for work within the last minute.',
  },
  unfinished: {
    question: 'load',
    name: 'fieldmirror_sweeps_unfinished',
    type: 'gauge',
    labels: ['account', 'stream', 'state'],
    help: 'Sweeps that wait for a worker (due), or that a worker runs (running).',
  },
  fullSweepRecords: {
    question: 'load',
    name: 'fieldmirror_full_sweep_records',
    type: 'gauge',
    labels: streamLabels,
    help: 'Different records that the last full sweep read.',
  },
  fullSweepPages: {
    question: 'load',
    name: 'fieldmirror_full_sweep_pages',
    type: 'gauge',
    labels: streamLabels,
    help: 'Pages that the last full sweep read.',
  },
  quarantine: {
    question: 'load',
    name: 'fieldmirror_quarantine_records',
    type: 'gauge',
    labels: streamLabels,
    help: 'Records in quarantine, still open.',
  },
  tableRows: {
    question: 'load',
    name: 'fieldmirror_table_rows',
    type: 'gauge',
    labels: ['schema', 'table'],
    help:
      "Rows of the table, of all accounts, by Postgres' own estimate. " +
      'Absent before its first ANALYZE.',
  },
  tableBytes: {
    question: 'load',
    name: 'fieldmirror_table_bytes',
    type: 'gauge',
    labels: ['schema', 'table'],
    help: 'Bytes of the table on disk, with its indexes.',
  },
  databaseBytes: {
    question: 'load',
    name: 'fieldmirror_database_bytes',
    type: 'gauge',
    labels: [],
    help: 'Bytes of the whole database on disk.',
  },
  prunedAge: {
    question: 'load',
    name: 'fieldmirror_pruned_age_seconds',
    type: 'gauge',
    labels: [],
    help: 'Since the last pruning ended. Absent before the first.',
  },
  pruned: {
    question: 'load',
    name: 'fieldmirror_pruned_total',
    type: 'counter',
    labels: ['kind'],
    help: 'Rows that were removed because they are no longer kept, by kind.',
  },
  changes: {
    question: 'wayBack',
    name: 'fieldmirror_changes_open',
    type: 'gauge',
    labels: ['account', 'state'],
    help: 'Changes made here that are not settled (held, pending, sending, in_doubt, conflict).',
  },
  oldestChange: {
    question: 'wayBack',
    name: 'fieldmirror_changes_oldest_age_seconds',
    type: 'gauge',
    labels: ['account', 'state'],
    help: 'Since the oldest of these changes was made. Absent if there are none.',
  },
  lateChanges: {
    question: 'wayBack',
    name: 'fieldmirror_changes_late',
    type: 'gauge',
    labels: ['account', 'reason'],
    help: 'Changes that do not settle automatically, by the reason that `status` shows.',
  },
  fieldEvents: {
    question: 'shape',
    name: 'fieldmirror_field_events_total',
    type: 'counter',
    labels: ['account', 'kind'],
    help:
      'Fields that appeared (new), disappeared (vanished), came back (returned) ' +
      'or changed their type (retyped).',
  },
} as const satisfies Readonly<Record<string, Metric>>;

/** Metrics counted by each process that sends requests: the sum over all processes is the total. */
export const requestCatalogue = {
  requests: {
    question: 'service',
    name: 'fieldmirror_service_requests_total',
    type: 'counter',
    labels: ['account', 'method', 'result'],
    help:
      'Requests to the service, by the status of the answer, or by why there was none ' +
      '(network, deadline, …).',
  },
  duration: {
    question: 'service',
    name: 'fieldmirror_service_request_duration_seconds',
    type: 'histogram',
    labels: ['account', 'method'],
    help: 'How long requests took, without waiting for a turn.',
  },
  bytes: {
    question: 'service',
    name: 'fieldmirror_service_answer_bytes_total',
    type: 'counter',
    labels: ['account'],
    help: 'Bytes of answers, as they came over the wire.',
  },
  concurrency: {
    question: 'service',
    name: 'fieldmirror_service_concurrency',
    type: 'gauge',
    labels: ['account'],
    help:
      'How many parallel requests the account is known to accept; ' +
      'it halves when the service throttles.',
  },
  attempts: {
    question: 'wayBack',
    name: 'fieldmirror_change_attempts_total',
    type: 'counter',
    labels: ['account', 'outcome'],
    help: 'Tries to send a change, by outcome (done, refused, not-sent, in-doubt).',
  },
} as const satisfies Readonly<Record<string, Metric>>;

/**
 * Metrics of this process and its connection to the warehouse; the Prometheus package adds those of
 * Node.
 */
export const processCatalogue = {
  warehouseUp: {
    question: 'process',
    name: 'fieldmirror_warehouse_up',
    type: 'gauge',
    labels: [],
    help:
      '1 if the figures of the warehouse could be read for this answer; 0 if it has none of ' +
      'them.',
  },
  reading: {
    question: 'process',
    name: 'fieldmirror_warehouse_reading_duration_seconds',
    type: 'gauge',
    labels: [],
    help: 'How long the last reading of these figures took.',
  },
  build: {
    question: 'process',
    name: 'fieldmirror_build_info',
    type: 'gauge',
    labels: ['version'],
    help: '1, with the version of Fieldmirror.',
  },
} as const satisfies Readonly<Record<string, Metric>>;

/** All metrics, in the order of the questions. */
export const catalogue: readonly Metric[] = Object.keys(metricQuestions).flatMap((question) =>
  [warehouseCatalogue, requestCatalogue, processCatalogue].flatMap((metrics) =>
    Object.values<Metric>(metrics).filter((metric) => metric.question === question),
  ),
);
