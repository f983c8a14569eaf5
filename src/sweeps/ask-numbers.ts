// Absence from a list proves nothing. If no list showed a record, the sweep requests it by its
// number, and only the answer counts. If the service has merged two records, it answers the number
// of the removed one with the remaining one. That answer counts as evidence only if the service
// still distinguishes records. A broken service, or a cache in front of it, may answer every
// request with the same record.

import type pg from 'pg';
import {SeenElements} from '../api/value-types.ts';
import {isAboutPath, isMissingRecord} from '../api/verdict.ts';
import type {FieldRecord} from '../api/xml-document.ts';
import {readOneApart} from '../api/xml-read.ts';
import {OlderReadingError, RecordError, RetryableError} from '../core/errors.ts';
import {backOffMs} from '../core/pauses.ts';
import {inSweepTransaction} from '../postgres/database.ts';
import {keyOf, nameTable, readMadeAgoMs} from '../rows/table-sql.ts';
import {listUnembedded} from '../streams/record-plan.ts';
import {readRecordNumber, readRows} from '../streams/record-rows.ts';
import {redactXml} from '../streams/values.ts';
import {writeBatch} from './batches.ts';
import {listPageFields, type PageFields} from './fields.ts';
import {type EncodedRowSet, encodeShown} from './packed-rows.ts';
import {type QuarantinedRecord, resolveMissing} from './quarantine.ts';
import {embedCustomer, embedMissing, recordPathOf, requestRecord} from './requests.ts';
import {
  noteOlder,
  readOlder,
  replaceOlder,
  reportStep,
  type SweepRun,
  scopeOf,
  transportCallOf,
} from './sweep-run.ts';
import {saveCheckpoint} from './sweeps.ts';
import {type GoneNumber, readClock} from './tombstones.ts';

/** The answers for some numbers; records that could not be accepted are in quarantine. */
export interface Answers {
  readonly found: readonly string[];
  readonly gone: readonly GoneNumber[];
  /**
   * Records that the service shows as they were before one of our changes, or does not show yet.
   * They are noted in the sweep, which requests them again.
   */
  readonly older: readonly string[];
  /** The answers that prove nothing, each with its reason in one sentence. */
  readonly unclear: readonly string[];
  /** Elements that found records lack and that no other request returned, one sentence each. */
  readonly untold: readonly string[];
}

/** Stores the answers "gone", in the transaction that loads the records found with them. */
export type SaveMissing = (
  client: pg.ClientBase,
  answers: {readonly gone: readonly GoneNumber[]; readonly requestedAt: string},
) => Promise<void>;

const requestsAtOnce = 60;

/**
 * Requests records by their number, some at a time, and yields the answers of each batch once they
 * are committed. Found records are loaded; gone ones are stored as evidence. The caller may stop
 * after any batch.
 * @throws {RetryableError} the service or the database failed temporarily
 */
export async function* requestNumbers(
  run: SweepRun,
  numbers: Iterable<string>,
  saveMissing: SaveMissing,
): AsyncGenerator<Answers> {
  for (const batch of splitIntoBatches(numbers)) yield await requestBatch(run, batch, saveMissing);
}

function* splitIntoBatches(numbers: Iterable<string>): Generator<readonly string[]> {
  let batch: string[] = [];
  for (const number of numbers) {
    batch.push(number);
    if (batch.length < requestsAtOnce) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Requests a few numbers at once. */
async function requestBatch(
  run: SweepRun,
  numbers: readonly string[],
  saveMissing: SaveMissing,
): Promise<Answers> {
  const {deps, sweep, tally} = run;
  const requestedAt = await readClock(deps.pool);
  const answers = await requestAll(run, numbers);
  await reportStep(run, 'numbers-asked');
  const rowSets = answers.flatMap((answer) => answer.rowSet ?? []);
  const missing = answers.flatMap((answer) => answer.gone ?? []);
  const recentlyMade = await readMadeAgoMs(deps.pool, {
    accountId: sweep.accountId,
    table: run.stream.table.name,
    numbers: missing.map(({number}) => number),
  });
  const gone = missing.filter(({number}) => !recentlyMade.has(number));
  const bad = answers.flatMap((answer) => answer.bad ?? []);
  const fields = run.fields.take(answers.flatMap((answer) => answer.fields ?? []));
  const result = await inSweepTransaction(deps.pool, async (client) => {
    const {older, ...written} = await writeBatch(client, run, {
      rowSets,
      bytes: new Map(),
      bad,
      fields,
    });
    await noteOlder(client, sweep.sweepId, [...recentlyMade.keys()]);
    const counts = {asked: numbers.length, records: rowSets.length, ...written};
    await resolveMissing(client, {...scopeOf(run), numbers: gone.map(({number}) => number)});
    await saveMissing(client, {gone, requestedAt});
    await saveCheckpoint(client, sweep, {counts: tally.with(counts)});
    await reportStep(run, 'numbers-written');
    return {counts, older: [...older, ...recentlyMade.keys()]};
  });
  tally.add(result.counts);
  await reportStep(run, 'numbers-committed');
  const unclear = answers.flatMap((answer) => answer.unclear ?? []);
  const missingParts = answers.flatMap((answer) => answer.untold ?? []);
  return {
    found: rowSets.map((rowSet) => rowSet.number),
    gone,
    older: result.older,
    unclear,
    untold: missingParts,
  };
}

/**
 * The service's answer for one number. Exactly one of the first four members is set; `untold` and
 * `fields` come only with a record.
 */
interface Answer {
  readonly rowSet?: EncodedRowSet;
  readonly gone?: GoneNumber;
  readonly bad?: QuarantinedRecord;
  readonly unclear?: string;
  readonly untold?: string;
  readonly fields?: readonly PageFields[];
}

/**
 * One failure fails all. The function waits for the other requests before it throws, so that none
 * is still running then.
 */
async function requestAll(run: SweepRun, numbers: readonly string[]): Promise<Answer[]> {
  const settled = await Promise.allSettled(numbers.map((number) => requestNumber(run, number)));
  return settled.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

async function requestNumber(run: SweepRun, number: string): Promise<Answer> {
  const {stream, account, tally} = run;
  const call = transportCallOf(run);
  const {thing, answer} = await requestRecord({account, stream, call}, number);
  if (isMissingRecord(answer)) {
    const {status, message} = answer;
    if (isAboutPath(recordPathOf(stream, number), answer)) return {gone: {number, status, message}};
    return {unclear: `${thing}: ${status} "${message}" is not about a ${stream.item}`};
  }
  tally.add({bytes: answer.body.length});
  const seen = new SeenElements();
  try {
    const record = readOneApart(answer.body, stream, {
      thing,
      contentType: answer.contentType,
      seen,
    });
    const receivedNumber = readRecordNumber(stream, record);
    if (receivedNumber !== number) {
      const mergedInto = await findMerged(run, number, record);
      if (mergedInto === null)
        return {
          unclear: `${thing}: expected ${stream.item} ${number}, got ${receivedNumber ?? 'none'}`,
        };
      const message = `${stream.item} ${mergedInto} in its place`;
      return {gone: {number, status: 200, message, mergedInto}};
    }
    const completeRecord = await embedRest(run, record);
    const rowSet = encodeShown(stream, readRows(stream, completeRecord, account), completeRecord);
    const fields = listPageFields(stream, seen);
    const missingElements = listUnembedded(stream, completeRecord).join(', ');
    if (missingElements === '') return {rowSet, fields};
    const problem =
      `${stream.item} ${number} came without its ${missingElements}, ` +
      'and no list showed them: what is held of those stays';
    return {rowSet, fields, untold: problem};
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    const xml = redactXml(answer.body.toString('utf8'));
    const {message: reason, expected} = error;
    return {bad: {page: null, number, reason, expected, xml}};
  }
}

/**
 * Returns the record with the elements that its document omits and other requests return. Only a
 * sweep of a single record makes these requests: other sweeps get the rest from the list. If the
 * requests fail, the record is used as it is.
 */
async function embedRest(run: SweepRun, receivedRecord: FieldRecord): Promise<FieldRecord> {
  const {deps, sweep, stream, account, signal} = run;
  const place = {
    pool: deps.pool,
    accountId: sweep.accountId,
    account,
    stream,
    call: transportCallOf(run),
  };
  const record = await embedCustomer(place, receivedRecord);
  if (sweep.mode !== 'record') return record;
  try {
    return await embedMissing(place, record, listUnembedded(stream, record));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof RetryableError || error instanceof RecordError) return record;
    throw error;
  }
}

const backOff = {firstMs: 2_000, longestMs: 20_000, fixed: 1};

/**
 * Requests again, by number, the records that the service showed to this sweep as they were before
 * one of our changes.
 * @throws {OlderReadingError} the service still shows some of them that way: the sweep continues
 *   after a pause, which is longer each time
 */
export async function readOlderAgain(run: SweepRun, saveMissing: SaveMissing): Promise<void> {
  const {deps, sweep} = run;
  const olderRecords = await readOlder(deps.pool, sweep.sweepId);
  if (olderRecords === null) return;
  const numbers: string[] = [];
  for await (const {older} of requestNumbers(run, olderRecords.numbers, saveMissing))
    numbers.push(...older);
  await replaceOlder(deps.pool, sweep.sweepId, {...olderRecords, numbers});
  if (numbers.length > 0) await pauseForNewer(run);
}

/**
 * Postpones the sweep for a while, because of the records that are noted in it.
 * @throws {OlderReadingError} always
 */
export async function pauseForNewer({deps, sweep, stream}: SweepRun): Promise<never> {
  const {numbers, pauses} = (await readOlder(deps.pool, sweep.sweepId)) ?? {numbers: [], pauses: 0};
  await replaceOlder(deps.pool, sweep.sweepId, {numbers, pauses: pauses + 1});
  const retryAfterMs = backOffMs(pauses, backOff);
  throw new OlderReadingError(
    `the service still shows ${numbers.length} of the ${stream.name} as before a change of ` +
      'ours that it has confirmed: they are read again',
    {retryAfterMs},
  );
}

/**
 * Checks whether a record was merged into the one that the service returned in its place. Three
 * conditions prove it. The service also returns the other record under its own number. It returns a
 * third record as itself. The row stored for the number has another internal id than the returned
 * record: the service may also give a record a new number.
 * @param number - of the requested record
 * @param returnedRecord - it has another number
 * @returns the number of the record into which it was merged; null if that is not proven
 */
async function findMerged(
  run: SweepRun,
  number: string,
  returnedRecord: FieldRecord,
): Promise<string | null> {
  const {stream} = run;
  const intoNumber = readRecordNumber(stream, returnedRecord);
  if (!stream.isMergeable || intoNumber === null || intoNumber === number) return null;
  const {ownId, another: thirdNumber} = await readStoredIds(run, number, intoNumber);
  if (thirdNumber === null || ownId === idOf(returnedRecord)) return null;
  const remainingRecord = await readRecord(run, intoNumber);
  if (remainingRecord === null || readRecordNumber(stream, remainingRecord) !== intoNumber)
    return null;
  if (idOf(returnedRecord) === null || idOf(remainingRecord) !== idOf(returnedRecord)) return null;
  const thirdRecord = await readRecord(run, thirdNumber);
  return thirdRecord !== null && readRecordNumber(stream, thirdRecord) === thirdNumber
    ? intoNumber
    : null;
}

/** The internal id of the row stored for a number, and the number of a third live row. */
async function readStoredIds({deps, sweep, stream}: SweepRun, number: string, intoNumber: string) {
  const [table, key] = [nameTable(stream.table), keyOf(stream.table)];
  const {rows} = await deps.pool.query<{ownId: string | null; another: string | null}>(
    `SELECT (SELECT id FROM ${table} WHERE account_id = $1 AND ${key} = $2) AS "ownId",
       (SELECT ${key} FROM ${table} WHERE account_id = $1 AND _deleted_at IS NULL
         AND ${key} NOT IN ($2, $3) ORDER BY ${key} DESC LIMIT 1) AS another`,
    [sweep.accountId, number, intoNumber],
  );
  return rows[0] ?? {ownId: null, another: null};
}

/** A record by its number; null if it is gone or its document is invalid. */
async function readRecord(run: SweepRun, number: string): Promise<FieldRecord | null> {
  const {stream, account} = run;
  const call = transportCallOf(run);
  const {thing, answer} = await requestRecord({account, stream, call}, number);
  if (isMissingRecord(answer)) return null;
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
