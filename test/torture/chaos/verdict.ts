// What became of all that was wanted, and whether service and warehouse hold the same.

import pg from 'pg';
import {allStreams} from '../../../src/streams/all.ts';
import {findDifferences} from '../../support/compare.ts';
import {judge, type Verdict} from '../../support/push/checker.ts';
import {
  findCanaries,
  readChanges,
  readConflicts,
  readFinalRows,
  readRecords,
  toEffects,
} from '../../support/push/final-state.ts';
import type {FinalChange, FinalRecord, Intent, Value} from '../../support/push/history.ts';
import type {JournalEntry} from '../../support/push/memory-store.ts';
import {readTruth} from '../../support/truth.ts';
import type {Editor} from './editor.ts';
import type {Place} from './place.ts';

export interface Outcome {
  readonly verdict: Verdict;
  readonly changes: readonly FinalChange[];
  /** Of every field of every record, but of those with a change that waits for a person. */
  readonly different: readonly string[];
}

const isOver = new Set(['done', 'rejected', 'cancelled']);

export async function judgeChaos(
  place: Place,
  told: {
    readonly pool: pg.Pool;
    readonly intents: readonly Intent[];
    readonly editor: Editor;
    /** As they were before the first edit. */
    readonly records: readonly FinalRecord[];
    readonly lines: readonly string[];
  },
): Promise<Outcome> {
  const {pool, intents, editor} = told;
  const service = {url: place.serviceUrl, token: place.token};
  const changes = await readChanges(pool);
  const journal = await readJournal(place.serviceDatabaseUrl);
  const secrets = [place.token, Buffer.from(`${place.token}:${place.token}`).toString('base64')];
  const verdict = judge({
    intents,
    effects: toEffects(addBefore(journal, told.records, editor)),
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
  return {verdict, changes, different};
}

/** Without what the entries of the reference service do not tell: whose they are, and what the fields held. */
type Entry = Omit<JournalEntry, 'before' | 'isOurs'>;

async function readJournal(url: string): Promise<Entry[]> {
  const client = new pg.Client(url);
  await client.connect();
  const {rows} = await client.query<Entry>(
    'SELECT id::integer, method, path, resource, number::text, kind, changed FROM service.journal ORDER BY id',
  );
  await client.end();
  return rows;
}

/** Goes through the journal from the beginning: what a field held before is what was last written to it. */
function addBefore(
  entries: readonly Entry[],
  records: readonly FinalRecord[],
  editor: Editor,
): JournalEntry[] {
  const held = new Map<string, Record<string, Value>>();
  for (const {table, number, fields} of records) held.set(`${table} ${number}`, {...fields});
  return entries.map((entry) => {
    const isOurs = !editor.claims(Object.values(entry.changed));
    const table = tableOf(entry);
    const key = `${table} ${entry.number}`;
    const values = held.get(key) ?? {};
    const before = Object.fromEntries(Object.keys(entry.changed).map((name) => [name, values[name] ?? null]));
    held.set(key, {...values, ...entry.changed});
    return {...entry, isOurs, before: entry.kind === 'update' ? before : {}};
  });
}

function tableOf({resource, path}: Entry): string {
  if (resource !== 'notes') return resource;
  return path.startsWith('/customers/') ? 'customer_notes' : 'job_notes';
}
