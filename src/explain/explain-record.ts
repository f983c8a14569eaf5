// Explains records for the terminal, an assistant and the console alike: the origin of a field, and
// the events of a row.

import type {Account} from '../accounts/accounts.ts';
import {listOpenChanges, type OpenChange} from '../changes/change.ts';
import {nameState} from '../changes/states.ts';
import {formatWantedValue} from '../changes/words.ts';
import {UsageError} from '../core/errors.ts';
import {showValue} from '../core/format.ts';
import {nearest} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import type {ChangeValue} from '../rows/change-values.ts';
import type {Stream} from '../streams/stream.ts';
import {listSchedules, type Schedule} from '../sweeps/schedules.ts';
import {
  type ChangeWriter,
  describeRead,
  describeWriter,
  type EditWriter,
  fieldColumns,
  listFieldNames,
  listRuns,
  type NumberAnswer,
  type Proof,
  type PrunedChangeWriter,
  type Run,
  readAbsence,
  readLastProof,
  readVersions,
  type SweepWriter,
  showSince,
  type Version,
  type Writer,
} from './record-versions.ts';

/** A record that is or was in the warehouse. */
export interface FoundRecord {
  readonly stream: Stream;
  readonly account: Account;
  /** Null for a row that the service has given no number yet. */
  readonly number: string | null;
  /** The newest first. */
  readonly versions: readonly [Version, ...Version[]];
}

/** The record with this number of the service, or with this row id; null if there never was one. */
export async function findRecord(
  db: Queryable,
  stream: Stream,
  {
    account,
    ...record
  }: {readonly account: Account} & ({readonly number: string} | {readonly rowId: string}),
): Promise<FoundRecord | null> {
  const recordKey = {accountId: account.accountId, ...record};
  const [newest, ...older] = await readVersions(db, stream.table, recordKey);
  if (newest === undefined) return null;
  const number = newest.fields.get(stream.key);
  return {
    stream,
    account,
    number: typeof number === 'string' ? number : null,
    versions: [newest, ...older],
  };
}

/**
 * The message for a record that the warehouse lacks: the service's answer about it, and the command
 * that requests it.
 */
export async function describeAbsence(
  db: Queryable,
  {
    stream,
    account,
    number,
  }: {readonly stream: Stream; readonly account: Account; readonly number: string},
): Promise<string> {
  const recordKey = {accountId: account.accountId, stream: stream.name, number};
  const absence = await readAbsence(db, recordKey);
  const answerText =
    absence === null
      ? ''
      : `; requested at ${absence.requestedAt}, ` +
        `the service said ${absence.status}: ${absence.message}`;
  return (
    `no row ${stream.name} ${number} in account ${account.name}${answerText}; ` +
    `to ask the service for it: fieldmirror sync ${stream.name} --record ${number}`
  );
}

/**
 * The whole story of one field of a record.
 * @param typed - its name, with hyphens or underscores
 * @throws {UsageError} no such field was ever seen
 */
export async function readFieldStory(
  db: Queryable,
  record: FoundRecord,
  typed: string,
): Promise<FieldStory> {
  const {versions, stream, account, number} = record;
  const {accountId} = account;
  const field = await findField(db, record, typed);
  const schedules = await listSchedules(db, {accountId});
  const receivedVersion = findReceivedVersion(versions, field);
  const recordKey = number === null ? null : {accountId, stream: stream.name, number};
  return buildFieldStory(versions, field, {
    receivedVersion,
    proof:
      receivedVersion === null || recordKey === null
        ? null
        : await readLastProof(db, recordKey, receivedVersion.validFrom),
    openChanges: await listOpenChanges(db, {table: stream.table.name, rowId: versions[0].rowId}),
    schedules: schedules.filter((schedule) => schedule.stream === stream.name),
  });
}

/** The field of that name. The service writes hyphens, we write underscores. */
async function findField(
  db: Queryable,
  {account: {accountId}, versions, stream}: FoundRecord,
  typed: string,
): Promise<string> {
  const {table} = stream;
  const normalizedName = typed.toLowerCase().replaceAll('-', '_');
  const listedNames = await listFieldNames(db, {accountIds: [accountId], tableName: table.name});
  const versionNames = versions.flatMap((version) => [...version.fields.keys()]);
  const knownNames = [...new Set([...fieldColumns(table), ...versionNames, ...listedNames])];
  const field =
    knownNames.find((candidate) => candidate === typed) ??
    knownNames.find((candidate) => candidate === normalizedName);
  if (field !== undefined) return field;
  throw new UsageError(
    `explain: ${stream.name} have no field "${typed}"${nearest(normalizedName, knownNames)}; ` +
      'sync.fields lists those that were ever seen',
  );
}

/** An open change of the field, on its way to the service. */
interface OpenFieldChange
  extends Pick<OpenChange, 'changeId' | 'operation' | 'state' | 'requestedAt'> {
  /** Absent if the record is to be deleted. */
  readonly lastSaid?: ChangeValue;
}

/** The origin of a field's value. Instants are ISO 8601 in UTC. */
export interface FieldStory {
  readonly field: string;
  readonly value: unknown;
  readonly isDeleted: boolean;
  /** When the row was removed from the warehouse; null if it is there. */
  readonly removedAt: string | null;
  readonly since: string;
  readonly writer: Writer;
  /**
   * The last moment at which the service is known to have had this value; null when it never did.
   */
  readonly lastKnownTrue: {
    readonly at: string;
    readonly by: Proof | SweepWriter | ChangeWriter | PrunedChangeWriter;
  } | null;
  /**
   * The open change that wants this value, and the service's last value; null when there is none.
   */
  readonly wanted: OpenFieldChange | null;
  /** Scheduled sweeps of the stream, the next first. */
  readonly nextReads: readonly Pick<Schedule, 'name' | 'mode' | 'windowName' | 'nextDueAt'>[];
  /** The newest first. */
  readonly earlier: readonly Run[];
}

/**
 * Builds the story of one field.
 * @param versions - of the row, the newest first, at least one
 * @param facts.said - the result of `findReceivedVersion`
 * @param facts.wishes - open changes of the row, the oldest first
 * @param facts.proof - the last certified sweep that covered the record after that version was
 *   written
 */
function buildFieldStory(
  versions: readonly [Version, ...Version[]],
  field: string,
  facts: {
    readonly receivedVersion: Version | null;
    readonly proof: Proof | null;
    readonly schedules: readonly Schedule[];
    readonly openChanges: readonly OpenChange[];
  },
): FieldStory {
  const [newest] = versions;
  const [run, ...earlier] = listRuns(versions, field);
  const wanted = findOpenFieldChange(facts.openChanges, field);
  return {
    field,
    value: run.value,
    isDeleted: run.isDeleted,
    removedAt: newest.validTo,
    since: run.from,
    writer: run.writer,
    lastKnownTrue: wanted === null ? findLastKnownTrue(versions, facts) : null,
    wanted,
    nextReads: facts.schedules.map(({name, mode, windowName, nextDueAt}) => ({
      name,
      mode,
      windowName,
      nextDueAt,
    })),
    earlier,
  };
}

/**
 * The last open change of the field counts. The base of the first one is the service's last value.
 */
function findOpenFieldChange(
  openChanges: readonly OpenChange[],
  field: string,
): OpenFieldChange | null {
  const fieldChanges = openChanges.filter(
    ({operation, fields}) => operation === 'delete' || field in fields,
  );
  const last = fieldChanges.at(-1);
  if (last === undefined) return null;
  const {changeId, operation, state, requestedAt} = last;
  const lastSaid = fieldChanges.find(({base}) => field in base)?.base[field];
  return {changeId, operation, state, requestedAt, ...(lastSaid === undefined ? {} : {lastSaid})};
}

function findLastKnownTrue(
  [newest]: readonly [Version, ...Version[]],
  {
    receivedVersion,
    proof,
  }: {readonly receivedVersion: Version | null; readonly proof: Proof | null},
): FieldStory['lastKnownTrue'] {
  if (newest.validTo !== null || receivedVersion === null || !isFromService(receivedVersion.writer))
    return null;
  return proof === null
    ? {at: findReceivedAt(receivedVersion), by: receivedVersion.writer}
    : {at: proof.startedAt, by: proof};
}

/**
 * When the service had the values of a version. A version that was joined with its edit begins
 * before that.
 */
function findReceivedAt({writer, validFrom}: Version): string {
  const sentAt = writer.kind === 'change' ? writer.sentAt : null;
  return sentAt !== null && Date.parse(sentAt) > Date.parse(validFrom) ? sentAt : validFrom;
}

/**
 * The newest version in which the service itself sent the field's present value. A value that was
 * written here does not count, even if the rest of the row was certified. If an edit left the field
 * alone, an older version counts.
 */
function findReceivedVersion(
  versions: readonly [Version, ...Version[]],
  field: string,
): Version | null {
  const [run] = listRuns(versions, field);
  const runVersions = versions.slice(
    0,
    versions.findIndex((version) => version.validFrom === run.from) + 1,
  );
  return runVersions.find(({writer}) => isFromService(writer)) ?? null;
}

function isFromService(writer: Writer): writer is SweepWriter | ChangeWriter | PrunedChangeWriter {
  return (
    writer.kind === 'sweep' ||
    writer.kind === 'pruned-change' ||
    (writer.kind === 'change' && writer.isReadBack)
  );
}

/** The story for a person. */
export function formatField(story: FieldStory): string {
  const {value, writer, earlier} = story;
  const deleted = story.isDeleted ? ', in a row that is marked deleted' : '';
  const lines = [
    `  value        ${showValue(value)}${deleted}`,
    `  written by   ${describeWriter(writer, story.field)}`,
    ...formatWanted(story),
    `  since        ${showSince(story.since)}`,
    ...(story.removedAt === null
      ? []
      : [`  until        ${showSince(story.removedAt)}, when the row was removed here`]),
    `  last true    ${formatLastKnown(story)}`,
    ...formatNextReads(story.nextReads).map(
      (read, index) => `  ${(index === 0 ? 'next read' : '').padEnd(12)} ${read}`,
    ),
  ];
  if (earlier.length === 0) return [...lines, '  before       no other value'].join('\n');
  return [
    ...lines,
    'earlier values, the newest first',
    ...earlier.map((run) => formatRun(run, story.field)),
  ].join('\n');
}

function formatWanted({wanted}: FieldStory): string[] {
  if (wanted === null) return [];
  const {changeId, operation, state, requestedAt, lastSaid} = wanted;
  const wantedBy = operation === 'delete' ? 'deletion wanted by' : 'wanted by';
  const serviceText =
    lastSaid === undefined ? '' : `; the service last said ${formatWantedValue(lastSaid)}`;
  const changeText = `change ${changeId} since ${showSince(requestedAt)}, ${nameState(state)}`;
  return [`  on its way   ${wantedBy} ${changeText}${serviceText}`];
}

function formatLastKnown({lastKnownTrue, removedAt, wanted}: FieldStory): string {
  if (removedAt !== null) return 'not known: the row is no longer here';
  if (wanted !== null) return `not yet: fieldmirror changes show ${wanted.changeId}`;
  if (lastKnownTrue === null)
    return 'never: the service has not said so; the next sweep brings what it says';
  const {at, by} = lastKnownTrue;
  if ('kind' in by)
    return `${showSince(at)}, when it was read${by.kind === 'sweep' ? '' : ' back'}`;
  return `${showSince(at)}, when sweep ${by.sweepId} (${by.mode}, certified) began`;
}

function formatNextReads(reads: FieldStory['nextReads']): string[] {
  if (reads.length === 0)
    return ['none is planned; fieldmirror start plans them, fieldmirror sync reads at once'];
  return reads.map((read) => `${read.nextDueAt}: ${describeRead(read)}`);
}

function formatRun({value, isDeleted, from, to, writer}: Run, field: string): string {
  const deleted = isDeleted ? ' (row marked deleted)' : '';
  const span = `${from} to ${to ?? 'now'}`;
  return `  ${span}: ${showValue(value)}${deleted}, by ${describeWriter(writer, field)}`;
}

/** Something that happened to a row. */
export interface RowEvent {
  /** ISO 8601, UTC. */
  readonly at: string;
  /**
   * `removed`: the row was removed from the warehouse. `deleted`: it was marked deleted, because
   * the record is gone at the service.
   */
  readonly what: 'appeared' | 'changed' | 'deleted' | 'returned' | 'removed';
  readonly writer: Writer;
  /** For a row that appeared, every field that is not empty. */
  readonly changes: readonly {
    readonly field: string;
    readonly from: unknown;
    readonly to: unknown;
  }[];
  /** The service's answer about the record because of which the row was marked deleted. */
  readonly evidence: NumberAnswer | null;
}

const unknownWriter: EditWriter = {kind: 'edit', writtenBy: null, application: null};
const noFields: Version['fields'] = new Map();

/**
 * Lists the events of a row, the oldest first.
 * @param versions - the newest first
 * @param deletions - every answer because of which the row was marked deleted
 */
export function readRowEvents(
  versions: readonly Version[],
  deletions: readonly NumberAnswer[],
): RowEvent[] {
  const events: RowEvent[] = [];
  let previous: Version | null = null;
  for (const version of versions.toReversed()) {
    if (previous !== null && previous.validTo !== version.validFrom) {
      events.push(buildRemoval(previous, version.validFrom));
      previous = null;
    }
    events.push(buildEvent(version, previous, deletions));
    previous = version;
  }
  if (previous !== null && previous.validTo !== null)
    events.push(buildRemoval(previous, previous.validTo));
  return events;
}

function buildRemoval({validTo, remover}: Version, nextFrom: string): RowEvent {
  return {
    at: validTo ?? nextFrom,
    what: 'removed',
    writer: remover ?? unknownWriter,
    changes: [],
    evidence: null,
  };
}

function buildEvent(
  version: Version,
  previous: Version | null,
  deletions: readonly NumberAnswer[],
): RowEvent {
  const {validFrom: at, writer, isDeleted} = version;
  const what = classifyEvent(version, previous);
  const sweepId = writer.kind === 'sweep' ? writer.sweepId : null;
  const evidence = isDeleted
    ? (deletions.find((answer) => answer.sweepId === sweepId) ?? null)
    : null;
  return {
    at,
    what,
    writer,
    changes: listFieldChanges(previous?.fields ?? noFields, version.fields),
    evidence,
  };
}

function classifyEvent(version: Version, previous: Version | null): RowEvent['what'] {
  if (previous === null) return 'appeared';
  if (version.isDeleted === previous.isDeleted) return 'changed';
  return version.isDeleted ? 'deleted' : 'returned';
}

function listFieldChanges(from: Version['fields'], to: Version['fields']): RowEvent['changes'] {
  const fields = [...new Set([...from.keys(), ...to.keys()])];
  return fields
    .map((field) => ({field, from: from.get(field) ?? null, to: to.get(field) ?? null}))
    .filter((change) => JSON.stringify(change.from) !== JSON.stringify(change.to));
}

/** The story for a person. */
export function formatRow(events: readonly RowEvent[]): string {
  return events.flatMap(formatEvent).join('\n');
}

/** An open change of the row, as text. */
export function formatOpenChange({
  changeId,
  operation,
  fields,
  base,
  state,
  requestedAt,
}: OpenChange): string {
  const head = `${requestedAt}  ${operation} wanted by change ${changeId}, ${nameState(state)}`;
  const names = operation === 'update' ? Object.keys(fields) : [];
  const lines = names.map(
    (name) => `    ${name}: ${formatWantedValue(base[name])} → ${formatWantedValue(fields[name])}`,
  );
  return [head, ...lines].join('\n');
}

function formatEvent({at, what, writer, changes, evidence}: RowEvent): string[] {
  const head = `${at}  ${nameEvent(what, changes.length)}, by ${describeWriter(writer)}`;
  const evidenceLines =
    evidence === null
      ? []
      : [
          `    requested at ${evidence.requestedAt}, ` +
            `the service said ${evidence.status}: ${evidence.message}`,
        ];
  if (what === 'appeared') return [head, ...evidenceLines];
  return [
    head,
    ...evidenceLines,
    ...changes.map(({field, from, to}) => `    ${field}: ${showValue(from)} → ${showValue(to)}`),
  ];
}

/**
 * `marked deleted`
 * @param count - how many fields the event changed
 */
export function nameEvent(what: RowEvent['what'], count: number): string {
  if (what === 'appeared') return `appeared, with ${count} ${count === 1 ? 'field' : 'fields'}`;
  if (what === 'changed') return count === 0 ? 'written again, with nothing changed' : 'changed';
  return {deleted: 'marked deleted', returned: 'came back', removed: 'removed from the warehouse'}[
    what
  ];
}
