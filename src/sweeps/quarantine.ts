import {createHash} from 'node:crypto';
import type pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {quarantine} from './tables.ts';

/** A record that could not be read or taken. */
export interface QuarantinedRecord {
  /** Null if it was requested by its number. */
  readonly page: number | null;
  /** Null if it could not be read. */
  readonly number: string | null;
  readonly reason: string;
  /** The same without the value that was sent; null if the reason may quote the value anywhere. */
  readonly expected: string | null;
  /** As sent, without secrets: the caller has removed them. */
  readonly xml: string;
}

interface Scope {
  readonly accountId: string;
  readonly stream: string;
}

type Row = typeof quarantine.$inferSelect;

const columns = [
  'quarantine_id',
  'account_id',
  'stream',
  'number',
  'page',
  'reason',
  'expected',
  'sweep_id',
  'first_seen_at',
  'last_seen_at',
  'resolved_at',
] as const satisfies readonly (keyof Row)[];

/** A record in quarantine: a row of sync.quarantine, whose definition explains each column. */
export interface QuarantineEntry extends ReadRow<Row, (typeof columns)[number]> {
  /** Name of its account. */
  readonly account: string;
}

const entryColumns = `${selectColumns(columns, 'quarantine')}, accounts.name AS account`;

/** The identity of one entry: the record's number, or its bytes if the number is not known. */
const identities = {
  number: '(account_id, stream, number) WHERE number IS NOT NULL',
  bytes: '(account_id, stream, xml_hash) WHERE number IS NULL',
} as const;

/**
 * Stores bad records. A record whose number is known is one entry, however often and wherever it is
 * met. For other records, equal bytes are one entry. A closed entry that is met again is open
 * again.
 * @returns how many of them this sweep had not met before
 */
export async function quarantineRecords(
  client: pg.ClientBase,
  batch: Scope & {readonly sweepId: string; readonly records: readonly QuarantinedRecord[]},
): Promise<number> {
  const records = [...new Map(batch.records.map((record) => [identify(record), record])).values()];
  const isNumbered = ({number}: QuarantinedRecord) => toValidNumber(number) !== null;
  const numbered = records.filter(isNumbered);
  const unnumbered = records.filter((record) => !isNumbered(record));
  return (
    (await saveEntries(client, {...batch, records: numbered}, identities.number)) +
    (await saveEntries(client, {...batch, records: unnumbered}, identities.bytes))
  );
}

async function saveEntries(
  client: pg.ClientBase,
  {accountId, stream, sweepId, records}: Parameters<typeof quarantineRecords>[1],
  identity: string,
): Promise<number> {
  if (records.length === 0) return 0;
  const {rows} = await client.query<{fresh: string}>(
    `WITH bad AS (
       SELECT * FROM unnest($4::integer[], $5::bigint[], $6::text[], $7::text[], $8::text[],
                $9::bytea[]) AS bad (page, number, reason, expected, xml, xml_hash)), kept AS (
       INSERT INTO sync.quarantine AS held (account_id, stream, sweep_id, page, number, reason,
         expected, xml, xml_hash)
       SELECT $1, $2, $3, bad.* FROM bad
           ON CONFLICT ${identity} DO UPDATE
          SET sweep_id = EXCLUDED.sweep_id, page = coalesce(EXCLUDED.page, held.page),
            reason = EXCLUDED.reason, expected = EXCLUDED.expected,
              xml = EXCLUDED.xml, xml_hash = EXCLUDED.xml_hash, last_seen_at = now(),
                resolved_at = NULL)
     SELECT count(*) AS fresh FROM bad
      WHERE NOT EXISTS (
              SELECT FROM sync.quarantine AS met
               WHERE met.account_id = $1 AND met.stream = $2 AND met.sweep_id = $3
               AND met.resolved_at IS NULL
                 AND (met.number = bad.number OR met.number IS NULL AND bad.number IS NULL
                   AND met.xml_hash = bad.xml_hash))`,
    [
      accountId,
      stream,
      sweepId,
      records.map((record) => record.page),
      records.map((record) => toValidNumber(record.number)),
      records.map((record) => replaceNul(record.reason)),
      records.map(({expected}) => (expected === null ? null : replaceNul(expected))),
      records.map((record) => replaceNul(record.xml)),
      records.map((record) => hashXml(record.xml)),
    ],
  );
  return Number(rows[0]?.fresh ?? 0);
}

/** Closes the open entries of records that could now be read. */
export async function resolveQuarantine(
  client: pg.ClientBase,
  readRecords: Scope & {readonly numbers: readonly string[]},
): Promise<number> {
  if (readRecords.numbers.length === 0) return 0;
  const {rowCount} = await client.query(
    `UPDATE sync.quarantine SET resolved_at = now()
      WHERE account_id = $1 AND stream = $2 AND number = ANY ($3::bigint[])
        AND resolved_at IS NULL`,
    [readRecords.accountId, readRecords.stream, readRecords.numbers],
  );
  return rowCount ?? 0;
}

/**
 * Closes the open entries of records that the service reports as gone, except those that this sweep
 * itself has met.
 */
export async function resolveMissing(
  client: pg.ClientBase,
  missingRecords: Scope & {readonly sweepId: string; readonly numbers: readonly string[]},
): Promise<void> {
  if (missingRecords.numbers.length === 0) return;
  await client.query(
    `UPDATE sync.quarantine SET resolved_at = now()
      WHERE account_id = $1 AND stream = $2 AND number = ANY ($4::bigint[]) AND resolved_at IS NULL
        AND sweep_id IS DISTINCT FROM $3`,
    [
      missingRecords.accountId,
      missingRecords.stream,
      missingRecords.sweepId,
      missingRecords.numbers,
    ],
  );
}

/**
 * Closes the open entries without a number that this sweep has not met: it could read every record
 * of the list.
 */
export async function resolveUnnumbered(
  client: pg.ClientBase,
  scope: Scope & {readonly sweepId: string},
): Promise<void> {
  await client.query(
    `UPDATE sync.quarantine SET resolved_at = now()
      WHERE account_id = $1 AND stream = $2 AND number IS NULL AND resolved_at IS NULL
      AND sweep_id IS DISTINCT FROM $3`,
    [scope.accountId, scope.stream, scope.sweepId],
  );
}

/** Numbers of open entries that this sweep has not met. */
export async function listUnmetNumbers(
  db: Queryable,
  {accountId, stream, sweepId}: Scope & {readonly sweepId: string},
): Promise<string[]> {
  const {rows} = await db.query<{number: string}>(
    `SELECT number FROM sync.quarantine
      WHERE account_id = $1 AND stream = $2 AND number IS NOT NULL AND resolved_at IS NULL
      AND sweep_id IS DISTINCT FROM $3
      ORDER BY number`,
    [accountId, stream, sweepId],
  );
  return rows.map(({number}) => number);
}

/** Selects the open entries to list; null matches all. */
interface QuarantineFilter {
  readonly accountIds: readonly string[] | null;
  readonly stream: string | null;
  /** How many of the latest are skipped. */
  readonly skipped?: number;
  readonly limit: number;
}

/** Open entries, the latest first. */
export async function listQuarantine(
  db: Queryable,
  {accountIds, stream, skipped = 0, limit}: QuarantineFilter,
): Promise<QuarantineEntry[]> {
  const {rows} = await db.query<QuarantineEntry>(
    `SELECT ${entryColumns} FROM sync.quarantine JOIN sync.accounts USING (account_id)
      WHERE resolved_at IS NULL AND ($1::bigint[] IS NULL OR account_id = ANY ($1))
      AND ($2::text IS NULL OR stream = $2)
      ORDER BY last_seen_at DESC, quarantine_id DESC LIMIT $3 OFFSET $4`,
    [accountIds, stream, limit, skipped],
  );
  return rows;
}

/** One entry with its XML, open or not; null when there is none of that number. */
export async function readQuarantine(
  db: Queryable,
  quarantineId: string,
): Promise<(QuarantineEntry & {readonly xml: string}) | null> {
  const {rows} = await db.query<QuarantineEntry & {xml: string}>(
    `SELECT ${entryColumns}, xml FROM sync.quarantine JOIN sync.accounts USING (account_id)
     WHERE quarantine_id = $1`,
    [quarantineId],
  );
  return rows[0] ?? null;
}

function identify({number, xml}: QuarantinedRecord): string {
  const validNumber = toValidNumber(number);
  return validNumber === null ? hashXml(xml).toString('hex') : String(BigInt(validNumber));
}

function hashXml(xml: string): Buffer {
  return createHash('sha256').update(xml).digest().subarray(0, 16);
}

/** The number of a bad record may itself be bad. */
function toValidNumber(text: string | null): string | null {
  return text !== null && /^-?\d{1,18}$/.test(text) ? text : null;
}

/** Postgres can store every character in a text except NUL. */
function replaceNul(text: string): string {
  return text.replaceAll('\0', '\u{fffd}');
}
