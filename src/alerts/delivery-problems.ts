// What is wrong with what is delivered, for a person to see to: the star, and the weekly report by
// e-mail. Silence is a fault: a night that was not delivered, or a report that was not made, is a
// problem, whether a try has failed or none was begun.

import {formatAge, formatNumber} from '../core/format.ts';
import type {ReportListHealth, TargetHealth} from '../delivery/targets.ts';
import type {Problem} from './alerts.ts';
import type {Workforce} from './installation-problems.ts';

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

/**
 * Finds the lists of the weekly report whose mails do not arrive, that no worker can send to, or
 * whose report was not made.
 * @param now - ISO 8601, by the database's clock
 */
export function findReportProblems(
  lists: readonly ReportListHealth[],
  workforce: Pick<Workforce, 'workers'>,
  now: string,
): Problem[] {
  return lists.flatMap((list): Problem[] => {
    const problem =
      describeNoServer(list, workforce) ?? describeUnsent(list, now) ?? describeUnmade(list, now);
    const place = {account: list.account, stream: null, kind: 'report-unsent' as const};
    return problem === null ? [] : [{...place, subject: list.name, ...problem}];
  });
}

/** Nothing is known while no worker is alive: that is told as such. */
function describeNoServer(
  {name, failingSince}: ReportListHealth,
  {workers}: Pick<Workforce, 'workers'>,
): Described | null {
  const alive = workers.filter(({isAlive}) => isAlive);
  if (alive.length === 0 || alive.some(({sendsMail}) => sendsMail)) return null;
  return {
    since: failingSince,
    text: `weekly reports to ${name} cannot be sent: no worker has FIELDMIRROR_SMTP_URL`,
    next: 'give start the address of the mail server in FIELDMIRROR_SMTP_URL',
  };
}

function describeUnsent(
  {name, failingSince, lastError, givenUp}: ReportListHealth,
  now: string,
): Described | null {
  if (failingSince === null) return null;
  const lost = givenUp === 0 ? '' : ` (${formatNumber(givenUp)} given up)`;
  const why = lastError ?? 'no worker has taken them up';
  const age = formatAge(failingSince, now);
  return {
    since: failingSince,
    text: `weekly reports to ${name} do not arrive${lost}, for ${age}: ${why}`,
    next: 'sync.report_mails has each mail, and the answer of the mail server',
  };
}

function describeUnmade({name, late: [first]}: ReportListHealth, now: string): Described | null {
  if (first === undefined) return null;
  const {account, freshAsOf} = first;
  const age = formatAge(first.since, now);
  const proven =
    freshAsOf === null
      ? 'its jobs were never proven complete'
      : `its jobs were last proven complete ${formatAge(freshAsOf, now)} ago`;
  return {
    since: first.since,
    text: `the weekly report of ${account} to ${name} is due for ${age}: ${proven}`,
    next: 'fieldmirror status shows why; fieldmirror sync jobs proves them complete now',
  };
}

/** One line for each list: when its last mail was sent, and what waits. */
export function drawReportLists(lists: readonly ReportListHealth[], now: string): string {
  return lists.map((list) => `reports  ${describeList(list, now)}`).join('\n');
}

function describeList(list: ReportListHealth, now: string): string {
  const {name, addresses, lastSentAt, waiting, givenUp, repeated} = list;
  const parts = [
    lastSentAt === null ? 'nothing sent yet' : `last sent ${formatAge(lastSentAt, now)} ago`,
    ...(waiting === 0 ? [] : [`${formatNumber(waiting)} to be sent`]),
    ...(givenUp === 0 ? [] : [`${formatNumber(givenUp)} given up`]),
    ...(repeated === 0 ? [] : [`${formatNumber(repeated)} may have arrived twice`]),
  ];
  const count = addresses.length;
  return `${name}: ${count} ${count === 1 ? 'address' : 'addresses'}, ${parts.join(', ')}`;
}
