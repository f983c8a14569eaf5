// Two records that were made one at the service: the number of the one that went is answered with
// the one that stayed. The answer counts as evidence only where the service still tells records
// apart, for a broken one, or a cache before it, may answer every question alike.

import {isGone} from '../api/verdict.ts';
import type {FieldRecord} from '../api/xml-document.ts';
import {readOneApart} from '../api/xml-read.ts';
import {RecordError} from '../core/errors.ts';
import {keyOf, nameTable} from '../rows/table-sql.ts';
import {numberOf} from '../streams/record-rows.ts';
import {requestRecord} from './requests.ts';
import {type SweepRun, transportCallOf} from './sweep-run.ts';

/**
 * Finds out whether a record was merged into the one that came in its place. That one has to come
 * under its own number as well, another record has to come as itself, and the row that is held has
 * to be of another record than the one that came: a number may also be given to a record anew.
 * @param number - of the record that was asked for
 * @param came - the record that came, of another number
 * @returns the number of the record into which it was merged; null where that is not proven
 */
export async function findMerged(
  run: SweepRun,
  number: string,
  came: FieldRecord,
): Promise<string | null> {
  const {stream} = run;
  const into = numberOf(stream, came);
  if (!stream.isMergeable || into === null || into === number) return null;
  const {ownId, another} = await readHeld(run, number, into);
  if (another === null || ownId === idOf(came)) return null;
  const stayed = await show(run, into);
  if (stayed === null || numberOf(stream, stayed) !== into) return null;
  if (idOf(came) === null || idOf(stayed) !== idOf(came)) return null;
  const apart = await show(run, another);
  return apart !== null && numberOf(stream, apart) === another ? into : null;
}

/** The internal id of the row that is held for a number, and the number of a third live row. */
async function readHeld({deps, sweep, stream}: SweepRun, number: string, into: string) {
  const [table, key] = [nameTable(stream.table), keyOf(stream.table)];
  const {rows} = await deps.pool.query<{ownId: string | null; another: string | null}>(
    `SELECT (SELECT id FROM ${table} WHERE account_id = $1 AND ${key} = $2) AS "ownId",
       (SELECT ${key} FROM ${table} WHERE account_id = $1 AND _deleted_at IS NULL
         AND ${key} NOT IN ($2, $3) ORDER BY ${key} DESC LIMIT 1) AS another`,
    [sweep.accountId, number, into],
  );
  return rows[0] ?? {ownId: null, another: null};
}

/** A record by its number; null where the answer is none. */
async function show(run: SweepRun, number: string): Promise<FieldRecord | null> {
  const {stream, account} = run;
  const call = transportCallOf(run);
  const {thing, answer} = await requestRecord({account, stream, call}, number);
  if (isGone(answer)) return null;
  try {
    return readOneApart(answer.body, stream, {thing, contentType: answer.contentType});
  } catch (error) {
    if (error instanceof RecordError) return null;
    throw error;
  }
}

function idOf({names, values}: FieldRecord): string | null {
  const id = values[names.indexOf('id')];
  return typeof id === 'string' ? id.trim() : null;
}
