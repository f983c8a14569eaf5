// Changes without what may be personal: values, and texts that the service or a person wrote.

import type {Change} from '../changes/change.ts';
import type {ChangeLine} from '../changes/change-list.ts';
import type {ChangeGroup} from '../changes/decisions.ts';
import type {PlannedRequest, Unplannable} from '../changes/request.ts';
import type {ChangeInFull, FieldSides} from '../changes/story.ts';
import type {ChangeResult, ChangeValues} from '../rows/change-values.ts';
import {hidden} from './page.ts';

/** Words of our own; every other reason may quote the service, or be typed by a person. */
const ownWords =
  /^(waits for change \d+|the service altered [\w, ]+|changed on both sides: [\w, ]+)$/;

export function hideLine(line: ChangeLine): ChangeLine {
  const {what, why, batch, next} = line;
  return {
    ...line,
    batch: batch === null ? null : hidden,
    what: hideBracket(what),
    why: hideText(why),
    next: next === null ? null : hideBracket(next),
  };
}

export function hideChangeInFull(story: ChangeInFull): ChangeInFull {
  const {change, blocker, request, attempts, conflicts, alterations, sides, next} = story;
  return {
    ...story,
    change: hideChange(change),
    blocker: blocker === null ? null : hideChange(blocker),
    request: request === null ? null : hideRequest(request),
    attempts: attempts.map((attempt) => ({
      ...attempt,
      request: hideBody(attempt.request),
      answer: hideBody(attempt.answer),
    })),
    conflicts: conflicts.map((conflict) => ({
      ...conflict,
      baseValue: hidden,
      warehouseValue: hidden,
      serviceValue: hidden,
    })),
    alterations: alterations.map((alteration) => ({...alteration, sent: hidden, got: hidden})),
    sides: sides.map(hideSides),
    next: next === null ? null : {...next, text: hideBracket(next.text)},
  };
}

export function hideChange(change: Change): Change {
  const {fields, base, reason, externalKey, batch, result} = change;
  return {
    ...change,
    fields: hideValues(fields),
    base: hideValues(base),
    reason: reason === null ? null : hideText(reason),
    externalKey: externalKey === null ? null : hidden,
    batch: batch === null ? null : hidden,
    result: result === null ? null : hideResult(result),
  };
}

export function hideRequest<R extends PlannedRequest | Unplannable>(request: R): R {
  return 'problem' in request ? request : {...request, body: hideBody(request.body)};
}

function hideValues(values: ChangeValues): ChangeValues {
  return Object.fromEntries(Object.keys(values).map((name) => [name, hidden]));
}

function hideResult({altered, tidied, ...result}: ChangeResult): ChangeResult {
  const hide = (fields: NonNullable<ChangeResult['altered']>) =>
    Object.fromEntries(Object.keys(fields).map((name) => [name, {sent: hidden, got: hidden}]));
  return {
    ...result,
    ...(altered === undefined ? {} : {altered: hide(altered)}),
    ...(tidied === undefined ? {} : {tidied: hide(tidied)}),
  };
}

function hideSides(sides: FieldSides): FieldSides {
  const values = ['base', 'wanted', 'row', 'service'] as const;
  const known = values.filter((name) => sides[name] !== undefined);
  return {...sides, ...Object.fromEntries(known.map((name) => [name, hidden]))};
}

/**
 * A key at the ERP may be a name, and a reason is typed: `create customers (Ada Lovelace)`,
 * `account acme is paused (call Ada)`.
 */
function hideBracket(text: string): string {
  return text.replace(/ \((?!in \d).*\)$/s, ` (${hidden})`);
}

function hideBody(text: string | null): string | null {
  return text === null || text === '' ? text : hidden;
}

function hideText(text: string): string {
  return text === '' || ownWords.test(text) ? text : hidden;
}

/**
 * Why a change cannot be decided is our own words, but for a change that is held for a kind of
 * value.
 */
export function hideGroup(group: ChangeGroup): ChangeGroup {
  return /^(expected |a later change )/.test(group.what) ? group : {...group, what: hidden};
}

/**
 * Why a change is not taken back is our own words, but where the warehouse refused it by a value.
 */
const undoWords =
  /^(\w+(, \w+)*: (changed since|the service held it before this change|what it was before cannot be written)(; |$))+$|^(\w+(, \w+)* changed since$|it (is|was) |its r|another change |change \d+ takes it back already$|a (person|record) |the service refused|there is none)/;

export function hideUndoGroup(group: ChangeGroup): ChangeGroup {
  return undoWords.test(group.what) ? group : {...group, what: hidden};
}
