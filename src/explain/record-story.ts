// The whole story of a record, at a moment: its values with their origins, what hangs on it, and
// every version.

import {listOpenWishes, type OpenWish} from '../changes/change-log.ts';
import type {Queryable} from '../postgres/database.ts';
import {listPromoted} from '../star/fields.ts';
import type {ColumnType} from '../streams/table.ts';
import {originOf} from './explain-field.ts';
import type {FoundRecord} from './explain-record.ts';
import {type RowEvent, tellRow} from './explain-row.ts';
import {findMoment} from './record-moment.ts';
import {type PointedAt, readPointedAt, readRecordParts, type ToldParts} from './record-parts.ts';
import {type NumberAnswer, readDeletions} from './record-proofs.ts';
import {fieldColumns, type Version, type Writer} from './record-versions.ts';

/** One value of a record, and where it came from. */
export interface ToldValue {
  readonly field: string;
  readonly value: unknown;
  /** How its column keeps it; null where it is kept in `extra`, as text or as it was nested. */
  readonly type: ColumnType | null;
  /** The name under which it is a column of mart; null where it was given none. */
  readonly promotedAs: string | null;
  readonly since: string;
  readonly writer: Writer;
  /** The value now, where a past moment is looked at and it differs; absent else. */
  readonly now?: unknown;
}

/** A version: what happened to the record, and the moment at which it can be looked at. */
export interface ToldVersion extends RowEvent {
  /** Counted from the oldest, from 1. */
  readonly event: number;
}

/** Instants are ISO 8601 in UTC. */
export interface RecordStory {
  readonly stream: string;
  readonly account: string;
  readonly number: string | null;
  readonly rowId: string;
  readonly externalKey: string | null;
  readonly name: string | null;
  /** The past moment that is looked at; null: now. */
  readonly at: string | null;
  /** False where there was no row at that moment. */
  readonly isThere: boolean;
  /** Since when it is marked deleted; null where it was not at that moment. */
  readonly deletedSince: string | null;
  /** The answer of the service for which it was marked. */
  readonly evidence: NumberAnswer | null;
  /** When its row left the warehouse; null where it is here. */
  readonly removedAt: string | null;
  /** Those with a column or a name in mart; those that are empty are named alone. */
  readonly values: readonly ToldValue[];
  readonly emptyFields: readonly string[];
  /** Those that no column takes. */
  readonly attributes: readonly ToldValue[];
  readonly wanted: readonly OpenWish[];
  readonly pointedAt: readonly PointedAt[];
  readonly parts: readonly ToldParts[];
  /**
   * The version that is looked at, counted from the oldest, from 1; and when each began, the oldest
   * first.
   */
  readonly version: number;
  readonly moments: readonly string[];
  /** The newest first. */
  readonly events: readonly ToldVersion[];
  /** Where the next older events begin; null where there are none. */
  readonly olderFrom: number | null;
}

/** Events that a page shows. */
const eventsAtOnce = 20;

/**
 * Reads the story of a record that was found.
 * @param asked.at - ISO 8601 in UTC; null: now
 * @param asked.skipped - newer events that are left out
 */
export async function readRecordStory(
  db: Queryable,
  found: FoundRecord,
  asked: {readonly at: string | null; readonly skipped: number},
): Promise<RecordStory> {
  const {stream, account, number, versions} = found;
  const [newest] = versions;
  const {accountId} = account;
  const moment = findMoment(versions, asked.at);
  const fields = moment.versions?.[0].fields ?? new Map<string, unknown>();
  const place = {accountId, fields};
  const [deletions, wanted, promoted, parts, pointedAt] = await Promise.all([
    number === null ? [] : readDeletions(db, {accountId, stream: stream.name, number}),
    listOpenWishes(db, {table: stream.table.name, rowId: newest.rowId}),
    listPromoted(db, {accountId, tableName: stream.table.name}),
    readRecordParts(db, stream, {...place, at: asked.at}),
    readPointedAt(db, stream, place),
  ]);
  return {
    ...{stream: stream.name, account: account.name, number, rowId: newest.rowId, at: asked.at},
    externalKey: textOf(fields, 'external_key'),
    name: textOf(fields, 'name'),
    isThere: moment.versions !== null,
    ...tellDeletion(moment.versions, deletions),
    removedAt: asked.at === null ? newest.validTo : null,
    ...tellValues(found, {versions: moment.versions, promoted}),
    ...{wanted: asked.at === null ? wanted : [], pointedAt, parts},
    version: moment.version,
    moments: versions.map(({validFrom}) => validFrom).toReversed(),
    ...cutEvents(tellRow(versions, deletions), asked.skipped),
  };
}

function tellDeletion(
  versions: readonly [Version, ...Version[]] | null,
  deletions: readonly NumberAnswer[],
): Pick<RecordStory, 'deletedSince' | 'evidence'> {
  if (versions?.[0].isDeleted !== true) return {deletedSince: null, evidence: null};
  const deletion = tellRow(versions, deletions).findLast(({what}) => what === 'deleted');
  return {
    deletedSince: deletion?.at ?? versions[0].validFrom,
    evidence: deletion?.evidence ?? null,
  };
}

function tellValues(
  {stream, versions: [newest]}: FoundRecord,
  {
    versions,
    promoted,
  }: {
    readonly versions: readonly [Version, ...Version[]] | null;
    readonly promoted: ReadonlyMap<string, string>;
  },
): Pick<RecordStory, 'values' | 'emptyFields' | 'attributes'> {
  if (versions === null) return {values: [], emptyFields: [], attributes: []};
  const {fields} = versions[0];
  const types = new Map(stream.table.columns.map(({name, type}) => [name, type]));
  const columns = fieldColumns(stream.table);
  const tell = (field: string): ToldValue => {
    const {value, from, writer} = originOf(versions, field);
    const now = newest.fields.get(field) ?? null;
    const differs = newest !== versions[0] && JSON.stringify(now) !== JSON.stringify(value);
    const type = types.get(field) ?? (field === 'external_key' ? 'text' : null);
    const promotedAs = promoted.get(field) ?? null;
    return {field, value, type, promotedAs, since: from, writer, ...(differs ? {now} : {})};
  };
  const named = [...columns, ...promoted.keys()].map(tell);
  const isEmpty = (told: ToldValue) =>
    (told.value === null || told.value === '') && !('now' in told);
  const rest = [...new Set([...fields.keys(), ...newest.fields.keys()])].filter(
    (field) => !columns.includes(field) && !promoted.has(field),
  );
  return {
    values: named.filter((told) => !isEmpty(told)),
    emptyFields: named.filter(isEmpty).map(({field}) => field),
    attributes: rest.map(tell).filter((told) => !isEmpty(told)),
  };
}

function cutEvents(
  events: readonly RowEvent[],
  skipped: number,
): Pick<RecordStory, 'events' | 'olderFrom'> {
  const told = events.map((event, at) => ({...event, event: at + 1})).toReversed();
  const next = skipped + eventsAtOnce;
  return {events: told.slice(skipped, next), olderFrom: next < told.length ? next : null};
}

function textOf(fields: Version['fields'], name: string): string | null {
  const value = fields.get(name);
  return typeof value === 'string' ? value : null;
}
