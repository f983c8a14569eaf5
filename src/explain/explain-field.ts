import type {OpenWish} from '../changes/change-log.ts';
import {nameState, showWanted} from '../changes/change-words.ts';
import {showValue} from '../core/format.ts';
import type {ChangeValue} from '../rows/change-values.ts';
import type {Schedule} from '../sweeps/schedules.ts';
import {describeLook, describeWriter, since} from './explain-words.ts';
import type {Proof} from './record-proofs.ts';
import type {
  ChangeWriter,
  PrunedChangeWriter,
  SweepWriter,
  Version,
  Writer,
} from './record-versions.ts';

/**
 * A time during which a field did not change, and the row was neither marked deleted nor came back.
 */
export interface Run {
  readonly value: unknown;
  readonly isDeleted: boolean;
  /** When the first version with this value began. */
  readonly from: string;
  /** Null while it holds. */
  readonly to: string | null;
  /**
   * The writer of that first version; for a value that a change brought to the service, the change.
   */
  readonly writer: Writer;
}

/** A wish for the field that is on its way to the service. */
export interface Wanted extends Pick<OpenWish, 'changeId' | 'operation' | 'state' | 'requestedAt'> {
  /** Absent where the record is to be deleted. */
  readonly lastSaid?: ChangeValue;
}

/** The origin of a field's value. Instants are ISO 8601 in UTC. */
export interface FieldStory {
  readonly field: string;
  readonly value: unknown;
  readonly isDeleted: boolean;
  /** When the row was removed from the warehouse; null where it is there. */
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
  readonly wanted: Wanted | null;
  /** Sweeps of the stream that come round by themselves, the next first. */
  readonly nextLooks: readonly Pick<Schedule, 'name' | 'mode' | 'windowName' | 'nextDueAt'>[];
  /** The newest first. */
  readonly earlier: readonly Run[];
}

/**
 * Tells the story of one field.
 * @param versions - of the row, the newest first, at least one
 * @param known.said - as `findSaid` has it
 * @param known.wishes - changes of the row that are not over, the first first
 * @param known.proof - the last certified sweep that covered the record after that version was
 *   written
 */
export function tellField(
  versions: readonly [Version, ...Version[]],
  field: string,
  known: {
    readonly said: Version | null;
    readonly proof: Proof | null;
    readonly schedules: readonly Schedule[];
    readonly wishes: readonly OpenWish[];
  },
): FieldStory {
  const [newest] = versions;
  const [run, ...earlier] = runsOf(versions, field);
  const wanted = findWanted(known.wishes, field);
  return {
    field,
    value: run.value,
    isDeleted: run.isDeleted,
    removedAt: newest.validTo,
    since: run.from,
    writer: run.writer,
    lastKnownTrue: wanted === null ? lastKnownTrue(versions, known) : null,
    wanted,
    nextLooks: known.schedules.map(({name, mode, windowName, nextDueAt}) => ({
      name,
      mode,
      windowName,
      nextDueAt,
    })),
    earlier,
  };
}

/**
 * Since when a field has the value that it has in the newest of some versions, and who brought it.
 */
export function originOf(versions: readonly [Version, ...Version[]], field: string): Run {
  return runsOf(versions, field)[0];
}

/** The first wish has the service's last value as its base; the last wish counts. */
function findWanted(wishes: readonly OpenWish[], field: string): Wanted | null {
  const about = wishes.filter(({operation, fields}) => operation === 'delete' || field in fields);
  const last = about.at(-1);
  if (last === undefined) return null;
  const {changeId, operation, state, requestedAt} = last;
  const lastSaid = about.find(({base}) => field in base)?.base[field];
  return {changeId, operation, state, requestedAt, ...(lastSaid === undefined ? {} : {lastSaid})};
}

function lastKnownTrue(
  [newest]: readonly [Version, ...Version[]],
  {said, proof}: {readonly said: Version | null; readonly proof: Proof | null},
): FieldStory['lastKnownTrue'] {
  if (newest.validTo !== null || said === null || !isSaid(said.writer)) return null;
  return proof === null ? {at: saidAt(said), by: said.writer} : {at: proof.startedAt, by: proof};
}

/** A version that was joined with its edit begins before the service had it. */
function saidAt({writer, validFrom}: Version): string {
  const sentAt = writer.kind === 'change' ? writer.sentAt : null;
  return sentAt !== null && Date.parse(sentAt) > Date.parse(validFrom) ? sentAt : validFrom;
}

/**
 * The newest version in which the service itself sent the value that the field holds now. A value
 * that was written here does not count, whatever was certified of the rest; but for a field that an
 * edit left alone an older version counts.
 */
export function findSaid(
  versions: readonly [Version, ...Version[]],
  field: string,
): Version | null {
  const [run] = runsOf(versions, field);
  const inRun = versions.slice(
    0,
    versions.findIndex((version) => version.validFrom === run.from) + 1,
  );
  return inRun.find(({writer}) => isSaid(writer)) ?? null;
}

function isSaid(writer: Writer): writer is SweepWriter | ChangeWriter | PrunedChangeWriter {
  return (
    writer.kind === 'sweep' ||
    writer.kind === 'pruned-change' ||
    (writer.kind === 'change' && writer.isReadBack)
  );
}

function runsOf(
  [newest, ...older]: readonly [Version, ...Version[]],
  field: string,
): [Run, ...Run[]] {
  const runs: [Run, ...Run[]] = [runOf(newest, field)];
  for (const version of older) {
    const one = runOf(version, field);
    const last = runs.at(-1);
    // Between two rows of the same number there is a time without one: that is no unbroken run.
    if (last !== undefined && last.from === one.to && isSame(last, one))
      runs.splice(-1, 1, {
        ...one,
        to: last.to,
        writer: hasBrought(last, one, field) ? last.writer : one.writer,
      });
    else runs.push(one);
  }
  return runs;
}

/** Whether a value that was here before a change was done is the value that the change wanted. */
function hasBrought({writer}: Run, {from}: Run, field: string): boolean {
  if (writer.kind !== 'change' || !writer.isReadBack || writer.state !== 'done') return false;
  return writer.fields.includes(field) && from >= writer.requestedAt;
}

function runOf({fields, isDeleted, validFrom, validTo, writer}: Version, field: string): Run {
  return {value: fields.get(field) ?? null, isDeleted, from: validFrom, to: validTo, writer};
}

function isSame(one: Run, other: Run): boolean {
  return (
    one.isDeleted === other.isDeleted && JSON.stringify(one.value) === JSON.stringify(other.value)
  );
}

/** The story for a person. */
export function drawField(story: FieldStory): string {
  const {value, writer, earlier} = story;
  const lines = [
    `  value        ${showValue(value)}${story.isDeleted ? ', in a row that is marked deleted' : ''}`,
    `  written by   ${describeWriter(writer, story.field)}`,
    ...drawWanted(story),
    `  since        ${since(story.since)}`,
    ...(story.removedAt === null
      ? []
      : [`  until        ${since(story.removedAt)}, when the row was removed here`]),
    `  last true    ${drawLastKnown(story)}`,
    ...drawNextLooks(story.nextLooks).map(
      (look, at) => `  ${(at === 0 ? 'next look' : '').padEnd(12)} ${look}`,
    ),
  ];
  if (earlier.length === 0)
    return [...lines, '  before       nothing else was ever here'].join('\n');
  return [
    ...lines,
    'earlier values, the newest first',
    ...earlier.map((run) => drawRun(run, story.field)),
  ].join('\n');
}

function drawWanted({wanted, field}: FieldStory): string[] {
  if (wanted === null) return [];
  const {changeId, operation, state, requestedAt, lastSaid} = wanted;
  const what = operation === 'delete' ? 'deletion wanted by' : 'wanted by';
  const said =
    lastSaid === undefined ? '' : `; the service last said ${showWanted(field, lastSaid)}`;
  return [
    `  on its way   ${what} change ${changeId} since ${since(requestedAt)}, ${nameState(state)}${said}`,
  ];
}

function drawLastKnown({lastKnownTrue, removedAt, wanted}: FieldStory): string {
  if (removedAt !== null) return 'not known: the row is no longer here';
  if (wanted !== null) return `not yet: fieldmirror changes show ${wanted.changeId}`;
  if (lastKnownTrue === null)
    return 'never: the service has not said so; the next sweep brings what it says';
  const {at, by} = lastKnownTrue;
  if ('kind' in by) return `${since(at)}, when it was read${by.kind === 'sweep' ? '' : ' back'}`;
  return `${since(at)}, when sweep ${by.sweepId} (${by.mode}, certified) began`;
}

function drawNextLooks(looks: FieldStory['nextLooks']): string[] {
  if (looks.length === 0)
    return ['none is planned; fieldmirror start plans them, fieldmirror sync looks at once'];
  return looks.map((look) => `${look.nextDueAt}: ${describeLook(look)}`);
}

function drawRun({value, isDeleted, from, to, writer}: Run, field: string): string {
  const deleted = isDeleted ? ' (row marked deleted)' : '';
  return `  ${from} to ${to ?? 'now'}: ${showValue(value)}${deleted}, by ${describeWriter(writer, field)}`;
}
