// What is wrong with the weekly report by e-mail, for a person to see to. Silence is a fault: a
// report that was not made is a problem, too.

import {formatAge, formatNumber} from '../core/format.ts';
import type {ReportListHealth} from '../delivery/report-lists.ts';
import type {Problem} from './alerts.ts';
import type {Workforce} from './installation-problems.ts';

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
      describeNoServer(list, workforce) ?? describeFailing(list, now) ?? describeLate(list, now);
    const place = {account: list.account, stream: null, kind: 'report-unsent' as const};
    return problem === null ? [] : [{...place, subject: list.name, ...problem}];
  });
}

type Described = Pick<Problem, 'since' | 'text' | 'next'>;

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

function describeFailing(
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

function describeLate({name, late: [first]}: ReportListHealth, now: string): Described | null {
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
