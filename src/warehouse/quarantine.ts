import {createHash} from 'node:crypto';
import type pg from 'pg';

/** A record that could not be read or taken. */
export interface QuarantinedRecord {
  readonly page: number | null;
  /** Where it could be read. */
  readonly number: string | null;
  readonly reason: string;
  /** As sent, but for secrets: the caller has removed them. */
  readonly xml: string;
}

interface Scope {
  readonly accountId: string;
  readonly stream: string;
}

/** Keeps bad records, in one statement. The same bytes are one entry, and one that comes again is open again. */
export async function quarantineRecords(
  client: pg.ClientBase,
  found: Scope & {readonly sweepId: string; readonly records: readonly QuarantinedRecord[]},
): Promise<void> {
  const records = [
    ...new Map(found.records.map((record) => [hashXml(record.xml).toString('hex'), record])).values(),
  ];
  if (records.length === 0) return;
  await client.query(
    `INSERT INTO sync.quarantine (account_id, stream, sweep_id, page, number, reason, xml, xml_hash)
     SELECT $1, $2, $3, bad.*
       FROM unnest($4::integer[], $5::bigint[], $6::text[], $7::text[], $8::bytea[]) AS bad
         ON CONFLICT (account_id, stream, xml_hash) DO UPDATE
        SET sweep_id = EXCLUDED.sweep_id, page = EXCLUDED.page, number = EXCLUDED.number, reason = EXCLUDED.reason,
            last_seen_at = now(), resolved_at = NULL`,
    [
      found.accountId,
      found.stream,
      found.sweepId,
      records.map((record) => record.page),
      records.map((record) => asNumber(record.number)),
      records.map((record) => storable(record.reason)),
      records.map((record) => storable(record.xml)),
      records.map((record) => hashXml(record.xml)),
    ],
  );
}

/** Closes what is open of records that were read well now. */
export async function resolveQuarantine(
  client: pg.ClientBase,
  read: Scope & {readonly numbers: readonly string[]},
): Promise<number> {
  if (read.numbers.length === 0) return 0;
  const {rowCount} = await client.query(
    `UPDATE sync.quarantine SET resolved_at = now()
      WHERE account_id = $1 AND stream = $2 AND number = ANY ($3::bigint[]) AND resolved_at IS NULL`,
    [read.accountId, read.stream, read.numbers],
  );
  return rowCount ?? 0;
}

function hashXml(xml: string): Buffer {
  return createHash('sha256').update(xml).digest().subarray(0, 16);
}

/** The number of a bad record may be what is bad about it. */
function asNumber(text: string | null): string | null {
  return text !== null && /^-?\d{1,18}$/.test(text) ? text : null;
}

/** Text in Postgres holds every character but one. */
function storable(text: string): string {
  return text.replaceAll('\0', '\u{fffd}');
}
