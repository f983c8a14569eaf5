// A change that is done: its sent values compared with the service's. Pure.

import type {KeptConflict} from '../changes/conflicts.ts';
import {
  type ChangeResult,
  type ChangeValues,
  isSameValue,
  saysTheSame,
} from '../rows/change-values.ts';
import type {Done, EndedAttempt} from './decision.ts';
import type {ChangeFacts} from './facts.ts';
import {findRemoteRow, type Remote} from './remote.ts';

/** The facts of a change that is done. */
export interface Finished {
  readonly number: string;
  /** Null where there is no record any more. */
  readonly remote: Remote | null;
  /** By the database's clock, before the record of the service was asked for. */
  readonly since: string;
  /** The values sent, to compare with the service's. */
  readonly sent: ChangeValues;
  readonly unsent?: readonly string[];
  readonly conflicts?: readonly KeptConflict[];
  readonly attempt?: EndedAttempt | null;
}

/** Ends a change as done, with the service's present values. */
export function finish(
  facts: Pick<ChangeFacts, 'writes' | 'stream' | 'rules'>,
  {number, remote, since, sent, unsent = [], conflicts = [], attempt = null}: Finished,
): Done {
  const row = remote === null ? null : findRemoteRow(facts, remote, number);
  const values = row?.values ?? {};
  const result = resultOf(facts, {sent, unsent}, values);
  return {
    what: 'done',
    number,
    remote,
    values,
    isGone: row === null,
    since,
    result,
    conflicts,
    attempt,
  };
}

function resultOf(
  {rules}: Pick<ChangeFacts, 'rules'>,
  {sent, unsent}: {readonly sent: ChangeValues; readonly unsent: readonly string[]},
  got: ChangeValues,
): ChangeResult | null {
  const others = Object.entries(sent).flatMap(([field, value]) => {
    const kind = rules.get(field)?.kind ?? 'text';
    const came = got[field];
    if (came === undefined || isSameValue(kind, value, came)) return [];
    return [
      {field, isTidied: saysTheSame({field, kind}, value, came), values: {sent: value, got: came}},
    ];
  });
  const pick = (isTidied: boolean) =>
    Object.fromEntries(
      others.flatMap((each) => (each.isTidied === isTidied ? [[each.field, each.values]] : [])),
    );
  const altered = pick(false);
  const tidied = pick(true);
  const result = {
    ...(Object.keys(altered).length === 0 ? {} : {altered}),
    ...(Object.keys(tidied).length === 0 ? {} : {tidied}),
    ...(unsent.length === 0 ? {} : {unsent}),
  };
  return Object.keys(result).length === 0 ? null : result;
}
