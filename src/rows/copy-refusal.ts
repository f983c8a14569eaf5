import pg from 'pg';
import {RecordError} from '../core/errors.ts';
import type {EncodedRow, MirrorTable} from '../streams/table.ts';

/**
 * The place where COPY stopped, in its words; the value, which follows after a colon, is left out.
 */
const place = /^COPY [^,]+, line (\d+)(?:, column ([^:\n]+))?/m;

/**
 * Turns Postgres' refusal of one value in a COPY (class 22: not a number, out of range, no such
 * time) into a RecordError that names table, key and column. Its cause is left out: it quotes the
 * value. Other errors come back.
 */
export function explainRefusal(
  error: unknown,
  table: MirrorTable,
  rows: readonly EncodedRow[],
): unknown {
  if (!(error instanceof pg.DatabaseError) || !error.code?.startsWith('22')) return error;
  const [, line, column] = place.exec(error.where ?? '') ?? [];
  const row = rows[Number(line) - 1];
  return new RecordError(
    `${table.name} ${row?.key ?? '(unknown)'}: expected a value that column ${column ?? '(unknown)'} takes, got one that Postgres refuses (${error.code})`,
  );
}
