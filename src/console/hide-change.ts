// Changes without possibly personal data: values, and texts that the service or a person wrote.

import type {Change} from '../changes/change.ts';
import type {ChangeLine} from '../changes/change-list.ts';
import type {ChangeGroup} from '../changes/decisions.ts';
import type {PlannedRequest, Unplannable} from '../changes/request.ts';
import type {ChangeInFull, FieldSides} from '../changes/story.ts';
import type {ChangeResult, ChangeValues} from '../rows/change-values.ts';
import {hidden} from './page.ts';

/**
 * The line without possibly personal data. Sentences are made from the rest, so they show no more.
 */
export function hideLine(line: ChangeLine): ChangeLine {
  const {name, batch, externalKey, reason, result, next} = line;
  return {
    ...line,
    name: hideText(name),
    batch: hideText(batch),
    externalKey: hideText(externalKey),
    reason: hideText(reason),
    result: result === null ? null : hideResult(result),
    next: next === null ? null : {...next, note: hideText(next.note)},
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
      request: hideText(attempt.request),
      answer: hideText(attempt.answer),
    })),
    conflicts: conflicts.map((conflict) => ({
      ...conflict,
      baseValue: hidden,
      warehouseValue: hidden,
      serviceValue: hidden,
    })),
    alterations: alterations.map((alteration) => ({...alteration, sent: hidden, got: hidden})),
    sides: sides.map(hideSides),
    next: next === null ? null : {...next, note: hideText(next.note)},
  };
}

export function hideChange(change: Change): Change {
  const {fields, base, reason, externalKey, batch, result} = change;
  return {
    ...change,
    fields: hideValues(fields),
    base: hideValues(base),
    reason: hideText(reason),
    externalKey: hideText(externalKey),
    batch: hideText(batch),
    result: result === null ? null : hideResult(result),
  };
}

export function hideRequest<RequestOrProblem extends PlannedRequest | Unplannable>(
  request: RequestOrProblem,
): RequestOrProblem {
  return 'problem' in request ? request : {...request, body: hideText(request.body)};
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
  const sideNames = ['base', 'wanted', 'row', 'service'] as const;
  const presentSides = sideNames.filter((name) => sides[name] !== undefined);
  return {...sides, ...Object.fromEntries(presentSides.map((name) => [name, hidden]))};
}

function hideText(text: string | null): string | null {
  return text === null || text === '' ? text : hidden;
}

export function hideGroup(group: ChangeGroup): ChangeGroup {
  return group.isQuote ? {...group, what: hidden} : group;
}
