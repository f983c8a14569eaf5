// The true history of a record. Ticks count the events at the adversary: its changes and its
// answers.

/** From one tick on, up to another that is no more part of it; null: to this day. */
export interface Span {
  readonly from: number;
  readonly to: number | null;
}

export interface Note {
  readonly id: string;
  readonly note: string;
}

/** The content of the record from a tick on, until the next version. */
export interface Version {
  readonly tick: number;
  readonly name: string;
  readonly notes: readonly Note[];
}

export interface RecordHistory {
  readonly number: string;
  /** The spans in which it existed; more than one where it was deleted and came back. */
  readonly lives: readonly Span[];
  /** The spans in which it existed and no list showed it. */
  readonly hidings: readonly Span[];
  /** The versions in order of their ticks. */
  readonly versions: readonly Version[];
}

/** Whether the record existed at every tick of an interval, both ends included. */
export function isAliveThroughout({lives}: RecordHistory, from: number, to: number): boolean {
  return lives.some((life) => life.from <= from && (life.to === null || life.to > to));
}

/** Whether the record existed at any tick of an interval, both ends included. */
export function wasAliveWithin({lives}: RecordHistory, from: number, to: number): boolean {
  return lives.some((life) => overlaps(life, from, to));
}

/**
 * Whether lists showed the record, if it existed, at every tick of an interval, both ends included.
 */
export function isListedThroughout({hidings}: RecordHistory, from: number, to: number): boolean {
  return !hidings.some((hiding) => overlaps(hiding, from, to));
}

/** The versions that were current at some tick of an interval, both ends included. */
export function versionsWithin({versions}: RecordHistory, from: number, to: number): Version[] {
  return versions.filter(({tick}, at) =>
    overlaps({from: tick, to: versions[at + 1]?.tick ?? null}, from, to),
  );
}

function overlaps(span: Span, from: number, to: number): boolean {
  return span.from <= to && (span.to === null || span.to > from);
}
