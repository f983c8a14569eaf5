import {tellAddressStep} from '../alerts/address-step.ts';
import type {AlertOverview, RuleStatus} from '../alerts/alert-overview.ts';
import type {Alert} from '../alerts/alerts.ts';
import {seeDocs} from '../core/errors.ts';
import {formatAgo, formatDuration} from '../core/format.ts';
import {drawTable} from './report.ts';
import {wrap} from './wrap-text.ts';

/** How `alerts list` looks: a table of rules, then what is open. */
export function drawAlerts({rules, open}: AlertOverview): string {
  if (rules.length === 0)
    return 'nobody is told what is wrong: fieldmirror alerts add NAME --email ADDRESS, or --webhook, --slack, --ping';
  const head = ['rule', 'tells', 'by', 'of', 'last sent', 'waiting', 'quiet'];
  const failing = rules.flatMap(({name, hasAddress, failingSince, lastError}) =>
    failingSince === null || !hasAddress
      ? []
      : [
          wrap(
            `${name} does not arrive, ${formatAgo(failingSince)}: ${lastError ?? 'no worker sends it'}`,
          ),
        ],
  );
  const waiting = rules.flatMap(({name, receiver, hasAddress}) =>
    hasAddress ? [] : [wrap(`${name} waits for its address: ${tellAddressStep(name, receiver)}`)],
  );
  return [
    drawTable(head, rules.map(describeRule)),
    ...failing,
    ...waiting,
    '',
    drawOpen(open),
  ].join('\n');
}

function describeRule({
  name,
  target,
  receiver,
  account,
  causes,
  ...rule
}: RuleStatus): (string | number)[] {
  const of = [account, causes?.join(', ') ?? null].filter((part) => part !== null).join(': ');
  return [
    name,
    target,
    rule.everyMs === null ? receiver : `${receiver}, every ${formatDuration(rule.everyMs)}`,
    of === '' ? 'everything' : of,
    rule.lastSentAt === null ? 'never' : formatAgo(rule.lastSentAt),
    rule.waiting,
    rule.everyMs === null ? formatDuration(rule.quietMs) : '',
  ];
}

function drawOpen(open: readonly Alert[]): string {
  if (open.length === 0) return 'Nothing is wrong that a rule tells of.';
  const lines = open.flatMap(({cause, account, stream, text, nextStep, openedAt}) => {
    const place = [account, stream].filter((name) => name !== null).join(', ');
    return [
      wrap(
        `  ${place === '' ? '' : `${place}: `}${text} (found ${formatAgo(openedAt)}; ${seeDocs(cause)})`,
      ),
      ...(nextStep === null ? [] : [wrap(`    ${nextStep}`)]),
    ];
  });
  return ['Open now:', ...lines].join('\n');
}
