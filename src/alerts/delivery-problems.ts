// What is wrong with the delivery of the star, for a person to see to. Silence is a fault: a night
// that was not delivered is a problem, whether a try has failed or none was begun.

import {formatAge} from '../core/format.ts';
import type {TargetHealth} from '../delivery/targets.ts';
import type {Problem} from './alerts.ts';

/** The first tries may meet storage that is just being restarted. */
const failingAfterTries = 3;
/** Sweeps of a night may take some hours longer than those of the night before. */
const graceMs = 21_600_000;

/**
 * Finds the targets that take no snapshot, got none for a night, or keep old ones that should be
 * removed.
 * @param now - ISO 8601, by the database's clock
 */
export function findDeliveryProblems(targets: readonly TargetHealth[], now: string): Problem[] {
  return targets.flatMap((target): Problem[] => {
    const problem =
      describeFailing(target, now) ?? describeLate(target, now) ?? describeUnremoved(target);
    const place = {account: null, stream: null, kind: 'not-delivered' as const};
    return problem === null ? [] : [{...place, subject: target.name, ...problem}];
  });
}

type Described = Pick<Problem, 'since' | 'text' | 'next'>;

function describeFailing(
  {name, failingSince, attempts, lastError}: TargetHealth,
  now: string,
): Described | null {
  if (failingSince === null || attempts < failingAfterTries) return null;
  return {
    since: failingSince,
    text: `deliveries to ${name} fail, for ${formatAge(failingSince, now)}: ${lastError}`,
    next: `fieldmirror deliver ${name} tries again at once`,
  };
}

function describeLate(
  {name, latest, addedAt, everyMs, isUnderWay, failingSince, ...target}: TargetHealth,
  now: string,
): Described | null {
  const since = latest?.deliveredAt ?? addedAt;
  const ageMs = Date.parse(now) - Date.parse(since);
  if (everyMs === null || isUnderWay || ageMs <= everyMs + graceMs) return null;
  const {lastError, waitsFor} = target;
  const why =
    failingSince !== null
      ? `: ${lastError}`
      : waitsFor.length > 0
        ? `: it waits for a certified sweep of ${waitsFor.join(', ')}`
        : '';
  const got = latest === null ? 'no snapshot yet' : 'no snapshot';
  return {
    since,
    text: `${name} has got ${got}, for ${formatAge(since, now)}${why}`,
    next:
      waitsFor.length > 0
        ? `fieldmirror status shows them; fieldmirror deliver ${name} delivers what is there`
        : `a running fieldmirror start delivers; fieldmirror deliver ${name} does it now`,
  };
}

function describeUnremoved({name, failingSince, lastError}: TargetHealth): Described | null {
  if (failingSince !== null || lastError === null) return null;
  return {
    since: null,
    text: `${name} keeps old snapshots that could not be removed: ${lastError}`,
    next: 'let Fieldmirror remove there, or raise keep in the settings',
  };
}

/** One line for each target: the last snapshot, or what is done at the moment. */
export function drawTargets(targets: readonly TargetHealth[], now: string): string {
  return targets.map((target) => `delivery  ${describeTarget(target, now)}`).join('\n');
}

function describeTarget(
  {name, latest, held, isUnderWay, step, failingSince, dueAt}: TargetHealth,
  now: string,
): string {
  const last =
    latest === null
      ? 'no snapshot yet'
      : `snapshot ${latest.name}, ${formatMegabytes(latest.bytes)}, ` +
        `${formatAge(latest.deliveredAt, now)} ago, ${held} held`;
  const ties = latest?.brokenTies ?? [];
  const broken = ties.length === 0 ? '' : `; tie-outs that do not hold: ${ties.join(', ')}`;
  const next = failingSince === null ? '' : `; the last try failed, the next is due ${dueAt}`;
  const doing = isUnderWay ? `; in progress: ${step ?? 'it has just begun'}` : '';
  return `${name}: ${last}${broken}${next}${doing}`;
}

function formatMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
