/**
 * How long the server lets a statement, a wait for a lock and an idle transaction last; 0 is
 * without an end.
 */
export interface SessionLimits {
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly idleInTransactionTimeoutMs: number;
}

// All names are written with their schema; a table of the same name in a foreign schema is never
// meant.
const settings = {
  search_path: 'pg_catalog, pg_temp',
  TimeZone: 'UTC',
  DateStyle: 'ISO, YMD',
  bytea_output: 'hex',
  client_min_messages: 'warning',
  // Thousands of looks into an index count as a dear plan: Postgres would compile it for longer
  // than it runs.
  jit: 'off',
} as const;

// Postgres ends the session of a host that was cut off within the 15 s of a lease. Until then its
// locks stand, and in the middle of a COPY no time limit of a statement or of a transaction ends
// it.
const goneClient = {
  tcp_keepalives_idle: 5,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 2,
  tcp_user_timeout: 15_000,
} as const;

/** An author who had the session before us may have left these in it. */
const marksOfAuthors = {'fieldmirror.writer': "''", 'fieldmirror.mode': "''"} as const;

/**
 * A query that makes our settings for the session. They are never sent at the start of a
 * connection: a pooler refuses some of them there, and drops others without a word.
 */
export function setForSession(limits: SessionLimits): string {
  const wanted = {...settings, ...inServerWords(limits), ...goneClient};
  const calls = Object.entries(wanted).map(
    ([name, value]) => `set_config('${name}', '${value}', false)`,
  );
  return `SELECT ${calls.join(', ')}`;
}

/**
 * Statements that make our settings for the transaction, and take them with it. None of them reads,
 * so that the transaction may still choose its isolation, and its snapshot.
 */
export function setForTransaction(limits: SessionLimits): string {
  const wanted = {...settings, ...inServerWords(limits), ...marksOfAuthors};
  return Object.entries(wanted)
    .map(([name, value]) => `SET LOCAL ${name} TO ${value}`)
    .join('; ');
}

function inServerWords(limits: SessionLimits) {
  return {
    statement_timeout: limits.statementTimeoutMs,
    lock_timeout: limits.lockTimeoutMs,
    idle_in_transaction_session_timeout: limits.idleInTransactionTimeoutMs,
  };
}
