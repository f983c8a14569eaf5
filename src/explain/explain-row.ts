import type {OpenWish} from '../changes/change-log.ts';
import {nameState, showWanted} from '../changes/change-words.ts';
import {showValue} from '../core/format.ts';
import {describeWriter} from './explain-words.ts';
import type {NumberAnswer} from './record-proofs.ts';
import type {EditWriter, Version, Writer} from './record-versions.ts';

/** Something that happened to a row. */
export interface RowEvent {
  /** ISO 8601, UTC. */
  readonly at: string;
  /**
   * `removed`: taken out of the warehouse; `deleted`: marked so, for the record is gone at the
   * service.
   */
  readonly what: 'appeared' | 'changed' | 'deleted' | 'returned' | 'removed';
  readonly writer: Writer;
  /** For a row that appeared every field that is not empty. */
  readonly changes: readonly {
    readonly field: string;
    readonly from: unknown;
    readonly to: unknown;
  }[];
  /**
   * The service's answer when it was asked for the record, of a row that was marked deleted for it.
   */
  readonly evidence: NumberAnswer | null;
}

const unknown: EditWriter = {kind: 'edit', writtenBy: null, application: null};
const nothing: Version['fields'] = new Map();

/**
 * Tells the story of a row from its beginning.
 * @param versions - the newest first
 * @param deletions - every answer that the row was marked deleted for
 */
export function tellRow(
  versions: readonly Version[],
  deletions: readonly NumberAnswer[],
): RowEvent[] {
  const events: RowEvent[] = [];
  let before: Version | null = null;
  for (const version of versions.toReversed()) {
    if (before !== null && before.validTo !== version.validFrom) {
      events.push(removalOf(before, version.validFrom));
      before = null;
    }
    events.push(eventOf(version, before, deletions));
    before = version;
  }
  if (before !== null && before.validTo !== null) events.push(removalOf(before, before.validTo));
  return events;
}

function removalOf({validTo, remover}: Version, nextFrom: string): RowEvent {
  return {
    at: validTo ?? nextFrom,
    what: 'removed',
    writer: remover ?? unknown,
    changes: [],
    evidence: null,
  };
}

function eventOf(
  version: Version,
  before: Version | null,
  deletions: readonly NumberAnswer[],
): RowEvent {
  const {validFrom: at, writer, isDeleted} = version;
  const what = whatHappened(version, before);
  const sweepId = writer.kind === 'sweep' ? writer.sweepId : null;
  const evidence = isDeleted
    ? (deletions.find((answer) => answer.sweepId === sweepId) ?? null)
    : null;
  return {at, what, writer, changes: compare(before?.fields ?? nothing, version.fields), evidence};
}

function whatHappened(version: Version, before: Version | null): RowEvent['what'] {
  if (before === null) return 'appeared';
  if (version.isDeleted === before.isDeleted) return 'changed';
  return version.isDeleted ? 'deleted' : 'returned';
}

function compare(from: Version['fields'], to: Version['fields']): RowEvent['changes'] {
  const fields = [...new Set([...from.keys(), ...to.keys()])];
  return fields
    .map((field) => ({field, from: from.get(field) ?? null, to: to.get(field) ?? null}))
    .filter((change) => JSON.stringify(change.from) !== JSON.stringify(change.to));
}

/** The story for a person. */
export function drawRow(events: readonly RowEvent[]): string {
  return events.flatMap(drawEvent).join('\n');
}

/** A change of the row that is on its way. */
export function drawWish({
  changeId,
  operation,
  fields,
  base,
  state,
  requestedAt,
}: OpenWish): string {
  const head = `${requestedAt}  ${operation} wanted by change ${changeId}, ${nameState(state)}`;
  const names = operation === 'update' ? Object.keys(fields) : [];
  const lines = names.map(
    (name) => `    ${name}: ${showWanted(name, base[name])} → ${showWanted(name, fields[name])}`,
  );
  return [head, ...lines].join('\n');
}

function drawEvent({at, what, writer, changes, evidence}: RowEvent): string[] {
  const head = `${at}  ${nameEvent(what, changes.length)}, by ${describeWriter(writer)}`;
  const said =
    evidence === null
      ? []
      : [
          `    asked for at ${evidence.askedAt}, the service said ${evidence.status}: ${evidence.words}`,
        ];
  if (what === 'appeared') return [head, ...said];
  return [
    head,
    ...said,
    ...changes.map(({field, from, to}) => `    ${field}: ${showValue(from)} → ${showValue(to)}`),
  ];
}

/** `marked deleted` @param count - of fields that it changed */
export function nameEvent(what: RowEvent['what'], count: number): string {
  if (what === 'appeared') return `appeared, with ${count} ${count === 1 ? 'field' : 'fields'}`;
  if (what === 'changed') return count === 0 ? 'written again, with nothing changed' : 'changed';
  return {deleted: 'marked deleted', returned: 'came back', removed: 'removed from the warehouse'}[
    what
  ];
}
