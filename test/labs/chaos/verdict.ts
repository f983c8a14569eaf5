// The outcome of every wish, and whether service and warehouse hold the same.

import pg from 'pg';
import {allStreams} from '../../../src/streams/all.ts';
import {findDifferences} from '../../support/compare.ts';
import {readTruth} from '../../support/truth.ts';
import {judge, type Verdict} from '../push/checker.ts';
import {
  findCanaries,
  readChanges,
  readConflicts,
  readFinalRows,
  readRecords,
  toEffects,
} from '../push/final-state.ts';
import type {FinalChange, FinalRecord, Intent, Value} from '../push/history.ts';
import type {JournalEntry} from '../push/memory-store.ts';
import type {Editor} from './editor.ts';
import type {Place} from './place.ts';
import {describeStories} from './story.ts';

export interface Outcome {
  readonly verdict: Verdict;
  readonly changes: readonly FinalChange[];
  /** Differing fields of all records, except those with a change that waits for a person. */
  readonly different: readonly string[];
  /** Edits at the service that were overwritten, though no read could have shown them. */
  readonly unseeable: number;
  /** The stories of records with a fault, line by line. */
  readonly stories: readonly string[];
}

const isOver = new Set(['done', 'rejected', 'cancelled']);

export async function judgeChaos(
  place: Place,
  told: {
    readonly pool: pg.Pool;
    readonly intents: readonly Intent[];
    readonly editor: Editor;
    /** The records before the first edit. */
    readonly records: readonly FinalRecord[];
    readonly lines: readonly string[];
  },
): Promise<Outcome> {
  const {pool, intents} = told;
  const service = {url: place.serviceUrl, token: place.token};
  const changes = await readChanges(pool);
  const journal = await readJournal(place.serviceDatabaseUrl);
  const {entries, unseeable} = addBefore(journal, {...told, requests: await readRequests(pool)});
  const secrets = [place.token, Buffer.from(`${place.token}:${place.token}`).toString('base64')];
  const verdict = judge({
    intents,
    effects: toEffects(entries),
    changes,
    conflicts: await readConflicts(pool),
    rows: await readFinalRows(pool),
    records: await readRecords(service),
    canaryHits: await findCanaries(pool, secrets, told.lines),
  });
  const open = new Set(
    changes.filter(({state}) => !isOver.has(state)).map(({table, number}) => `${table} ${number}`),
  );
  const leavesOut = (table: string, number: string | null) =>
    number === null || open.has(`${table} ${number}`);
  const different: string[] = [];
  for (const stream of allStreams) {
    const records = await readTruth(service, stream);
    different.push(...(await findDifferences(pool, stream, records, {leavesOut})));
  }
  const {lost, duplicated, unexpected, unrecorded} = verdict;
  const stories = await describeStories(pool, entries, [
    ...lost,
    ...duplicated,
    ...unexpected,
    ...unrecorded,
  ]);
  return {verdict, changes, different, unseeable, stories};
}

/**
 * An entry without the facts that the reference service does not tell: its owner, and the earlier
 * values.
 */
type Entry = Omit<JournalEntry, 'before' | 'isOurs'> & {readonly at: Date};

/** A PUT of ours, as noted before its first byte. */
interface Noted {
  readonly path: string;
  /** The time of the request for the record on which the PUT rests. */
  readonly readAt: Date | null;
  readonly startedAt: Date;
  /** Null while its answer is unknown. */
  readonly endedAt: Date | null;
}

async function readJournal(url: string): Promise<Entry[]> {
  const client = new pg.Client(url);
  await client.connect();
  const {rows} = await client.query<Entry>(
    `SELECT id::integer, at, method, path, resource, number::text, kind, changed
      FROM service.journal ORDER BY id`,
  );
  await client.end();
  return rows;
}

async function readRequests(pool: pg.Pool): Promise<Noted[]> {
  const {rows} = await pool.query<Noted>(
    `SELECT path, read_at AS "readAt", started_at AS "startedAt",
      CASE WHEN outcome <> 'in-doubt' THEN ended_at END AS "endedAt"
       FROM sync.attempts WHERE method = 'PUT'`,
  );
  return rows;
}

/**
 * Goes through the journal from the beginning: the earlier value of a field is the last one written
 * to it. The API has no conditional write, so that an edit between our read and our write is
 * overwritten unseen: it is counted, not judged.
 */
function addBefore(
  entries: readonly Entry[],
  told: {
    readonly records: readonly FinalRecord[];
    readonly editor: Editor;
    readonly requests: readonly Noted[];
  },
): {entries: (JournalEntry & Pick<Entry, 'at'>)[]; unseeable: number} {
  const held = new Map<string, Record<string, Value>>();
  const writtenAt = new Map<string, Date>();
  for (const {table, number, fields} of told.records) held.set(`${table} ${number}`, {...fields});
  let unseeable = 0;
  const judged = entries.map((entry) => {
    const isOurs = !told.editor.claims(Object.values(entry.changed));
    const key = `${tableOf(entry)} ${entry.number}`;
    const values = held.get(key) ?? {};
    const before: Record<string, Value> = {};
    for (const name of entry.kind === 'update' ? Object.keys(entry.changed) : []) {
      const editedAt = writtenAt.get(`${key} ${name}`);
      if (isOurs && editedAt !== undefined && isInWindow(editedAt, entry, told.requests))
        unseeable++;
      else before[name] = values[name] ?? null;
    }
    held.set(key, {...values, ...entry.changed});
    for (const name of Object.keys(entry.changed))
      if (isOurs) writtenAt.delete(`${key} ${name}`);
      else writtenAt.set(`${key} ${name}`, entry.at);
    return {...entry, isOurs, before};
  });
  return {entries: judged, unseeable};
}

/** Whether the record was edited while a request of ours for it was being prepared or under way. */
function isInWindow(editedAt: Date, entry: Entry, requests: readonly Noted[]): boolean {
  return requests.some(
    ({path, readAt, startedAt, endedAt}) =>
      entry.path.endsWith(path) &&
      startedAt <= entry.at &&
      readAt !== null &&
      readAt <= editedAt &&
      (endedAt === null || endedAt >= editedAt),
  );
}

function tableOf({resource, path}: Entry): string {
  if (resource !== 'notes') return resource;
  return path.startsWith('/customers/') ? 'customer_notes' : 'job_notes';
}
