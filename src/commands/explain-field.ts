import type {Proof} from '../warehouse/history.ts';
import type {Schedule} from '../warehouse/schedules.ts';
import type {EditWriter, SweepWriter, Version} from '../warehouse/versions.ts';
import {describeWriter, showValue, since} from './explain-words.ts';

/** A time during which a field did not change, and the row was neither marked deleted nor came back. */
export interface Run {
  readonly value: unknown;
  readonly isDeleted: boolean;
  /** When the first version with this value began. */
  readonly from: string;
  /** Null while it holds. */
  readonly to: string | null;
  /** Who wrote that first version. */
  readonly writer: SweepWriter | EditWriter;
}

/** Where the value of a field came from. Instants are ISO 8601 in UTC. */
export interface FieldStory {
  readonly field: string;
  readonly value: unknown;
  readonly isDeleted: boolean;
  /** When somebody removed the row from the warehouse; null where it is there. */
  readonly removedAt: string | null;
  readonly since: string;
  readonly writer: SweepWriter | EditWriter;
  /** The last moment at which the service is known to have said so; null when it never did. */
  readonly lastKnownTrue: {readonly at: string; readonly by: Proof | SweepWriter} | null;
  /** Sweeps of the stream that come round by themselves, the next first. */
  readonly nextLooks: readonly Pick<Schedule, 'name' | 'mode' | 'windowName' | 'nextDueAt'>[];
  /** The newest first. */
  readonly earlier: readonly Run[];
}

/**
 * Tells the story of one field.
 * @param versions - of the row, the newest first, at least one
 * @param known.said - as `findSaid` has it
 * @param known.proof - the last certified sweep that covered the record after that version was written
 */
export function tellField(
  versions: readonly [Version, ...Version[]],
  field: string,
  known: {
    readonly said: Version | null;
    readonly proof: Proof | null;
    readonly schedules: readonly Schedule[];
  },
): FieldStory {
  const [newest] = versions;
  const [run, ...earlier] = runsOf(versions, field);
  return {
    field,
    value: run.value,
    isDeleted: run.isDeleted,
    removedAt: newest.validTo,
    since: run.from,
    writer: run.writer,
    lastKnownTrue: lastKnownTrue(versions, known),
    nextLooks: known.schedules.map(({name, mode, windowName, nextDueAt}) => ({
      name,
      mode,
      windowName,
      nextDueAt,
    })),
    earlier,
  };
}

function lastKnownTrue(
  [newest]: readonly [Version, ...Version[]],
  {said, proof}: {readonly said: Version | null; readonly proof: Proof | null},
): FieldStory['lastKnownTrue'] {
  if (newest.validTo !== null || said === null || said.writer.kind === 'edit') return null;
  return proof === null ? {at: said.validFrom, by: said.writer} : {at: proof.startedAt, by: proof};
}

/**
 * The newest version in which the service itself said what the field holds now. What somebody wrote here it has not
 * said, whatever was certified of the rest; but of a field that an edit left alone an older version speaks.
 */
export function findSaid(versions: readonly [Version, ...Version[]], field: string): Version | null {
  const [run] = runsOf(versions, field);
  const inRun = versions.slice(0, versions.findIndex((version) => version.validFrom === run.from) + 1);
  return inRun.find((version) => version.writer.kind === 'sweep') ?? null;
}

function runsOf([newest, ...older]: readonly [Version, ...Version[]], field: string): [Run, ...Run[]] {
  const runs: [Run, ...Run[]] = [runOf(newest, field)];
  for (const version of older) {
    const one = runOf(version, field);
    const last = runs.at(-1);
    // Between two rows of the same number there is a time without one: that is no unbroken run.
    if (last !== undefined && last.from === one.to && isSame(last, one))
      runs.splice(-1, 1, {...one, to: last.to});
    else runs.push(one);
  }
  return runs;
}

function runOf({fields, isDeleted, validFrom, validTo, writer}: Version, field: string): Run {
  return {value: fields.get(field) ?? null, isDeleted, from: validFrom, to: validTo, writer};
}

function isSame(one: Run, other: Run): boolean {
  return one.isDeleted === other.isDeleted && JSON.stringify(one.value) === JSON.stringify(other.value);
}

/** The story for a person. */
export function drawField(story: FieldStory): string {
  const {value, writer, earlier} = story;
  const lines = [
    `  value        ${showValue(value)}${story.isDeleted ? ', in a row that is marked deleted' : ''}`,
    `  written by   ${describeWriter(writer)}`,
    `  since        ${since(story.since)}`,
    ...(story.removedAt === null
      ? []
      : [`  until        ${since(story.removedAt)}, when the row was removed here`]),
    `  last true    ${drawLastKnown(story)}`,
    ...drawNextLooks(story.nextLooks).map(
      (look, at) => `  ${(at === 0 ? 'next look' : '').padEnd(12)} ${look}`,
    ),
  ];
  if (earlier.length === 0) return [...lines, '  before       nothing else was ever here'].join('\n');
  return [...lines, 'earlier values, the newest first', ...earlier.map(drawRun)].join('\n');
}

function drawLastKnown({lastKnownTrue, removedAt}: FieldStory): string {
  if (removedAt !== null) return 'not known: the row is no longer here';
  if (lastKnownTrue === null) return 'never: the service has not said so; the next sweep brings what it says';
  const {at, by} = lastKnownTrue;
  if ('kind' in by) return `${since(at)}, when it was read`;
  return `${since(at)}, when sweep ${by.sweepId} (${by.mode}, certified) began`;
}

function drawNextLooks(looks: FieldStory['nextLooks']): string[] {
  if (looks.length === 0)
    return ['none is planned; fieldmirror start plans them, fieldmirror sync looks at once'];
  return looks.map(({mode, windowName, nextDueAt}) => {
    const kind = mode === 'full' ? 'full sweep' : `window ${windowName}, if the record falls in it`;
    return `${nextDueAt}: ${kind}`;
  });
}

function drawRun({value, isDeleted, from, to, writer}: Run): string {
  const deleted = isDeleted ? ' (row marked deleted)' : '';
  return `  ${from} to ${to ?? 'now'}: ${showValue(value)}${deleted}, by ${describeWriter(writer)}`;
}
