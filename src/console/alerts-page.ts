// Alerts: the problems, the receivers of messages, the messages that were sent, and the buttons for
// each rule.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import {deleteRule, describeAddressStep, type Problem} from '../alerts/alerts.ts';
import {
  type AlertOverview,
  describeRuleScope,
  listPastDeliveries,
  type PastDelivery,
  type RuleStatus,
  readAlertOverview,
} from '../alerts/deliveries.ts';
import {formatDuration, formatNumber} from '../core/format.ts';
import type {Tone} from '../core/text.ts';
import {type DeadLetter, type FeedHook, listDeadLetters, listHooks} from '../feed/hooks.ts';
import {makeNotFound} from './access.ts';
import {renderCause} from './documents.ts';
import {
  defineAction,
  definePage,
  hidden,
  linkTo,
  may,
  type PageContext,
  type PageRequest,
} from './page.ts';
import {renderAddRuleForm, renderDeadLetters, renderSubscribers} from './receivers.ts';
import {
  renderForm,
  renderMark,
  renderProse,
  renderSmall,
  renderTable,
  renderTime,
} from './render.ts';

interface Story extends AlertOverview {
  /** The newest first. */
  readonly deliveries: readonly PastDelivery[];
  /** Subscribers of the feed, by name. */
  readonly hooks: readonly FeedHook[];
  /** Messages that a person skipped, the oldest first. */
  readonly letters: readonly DeadLetter[];
}

const deliveryLimit = 50;

export const alertsPage = definePage<Story>({
  path: '/alerts',
  section: '/alerts',
  moving: ['alerts', 'alert_rules', 'alert_deliveries', 'feed_hooks', 'feed_dead_letters'],
  read: readStory,
  title: () => 'Alerts',
  render: (story, context) => html`
    <p class="lead">${describeAlerts(story)}</p>
    <h2>Wrong now</h2>
    ${renderOpenAlerts(story, context)}
    <h2>Who is notified</h2>
    ${renderRules(story.rules, context)}
    ${renderAddRuleForm(context)}
    <h2>Messages</h2>
    ${renderDeliveries(story.deliveries, context)}
    <h2>Subscribers of the feed</h2>
    ${renderSubscribers(story.hooks, context)}
    ${renderDeadLetters(story.letters, context)}`,
  hide: (story) => ({
    ...story,
    rules: story.rules.map((rule) =>
      rule.receiver === 'email' ? {...rule, target: hidden} : rule,
    ),
  }),
  elsewhere: () => ({
    command: 'fieldmirror alerts list && fieldmirror hooks list',
    sql: [
      'SELECT cause, stream, since, text FROM sync.alerts',
      ' WHERE resolved_at IS NULL ORDER BY opened_at;',
      'SELECT * FROM sync.alert_deliveries ORDER BY delivery_id DESC LIMIT 50;',
      'SELECT name, cursor, attempts, failing_since, stopped_at, sent_at',
      '  FROM sync.feed_hooks ORDER BY name;',
    ].join('\n'),
  }),
});

/**
 * A viewer who is bound to an account sees the rules, alerts and subscribers of that account alone.
 */
async function readStory({db, seen, seesAll, accounts}: PageRequest): Promise<Story> {
  const {rules, open, uncheckedSince} = await readAlertOverview(db);
  const names = accounts.map(({name}) => name);
  const isSeen = ({accountId}: {readonly accountId: string | null}) =>
    seesAll || seen.some((account) => account.accountId === accountId);
  const visibleRules = rules.filter(isSeen);
  const hooks = (await listHooks(db)).filter(isSeen);
  return {
    rules: visibleRules,
    open: open.filter(({account}) => (account === null ? seesAll : names.includes(account))),
    uncheckedSince,
    deliveries: await listPastDeliveries(db, {
      rules: visibleRules.map(({name}) => name),
      limit: deliveryLimit,
    }),
    hooks,
    letters: (await listDeadLetters(db)).filter(({hook}) => hooks.some(({name}) => name === hook)),
  };
}

function describeAlerts({rules, open, uncheckedSince}: Story): string {
  if (rules.length === 0) return 'No one is notified of what is wrong: there is no rule yet.';
  const failing = rules.filter(({failingSince}) => failingSince !== null).length;
  const problemText =
    uncheckedSince !== null
      ? 'No worker is alive, so nothing is checked'
      : open.length === 0
        ? 'Nothing is wrong that a rule reports'
        : open.length === 1
          ? 'One thing is wrong'
          : `${formatNumber(open.length)} things are wrong`;
  const deliveryText =
    failing === 0
      ? rules.every(({lastSentAt}) => lastSentAt === null)
        ? 'no message was sent yet'
        : 'messages arrive'
      : failing === 1
        ? 'the messages of one rule do not arrive'
        : `the messages of ${formatNumber(failing)} rules do not arrive`;
  return `${problemText}; ${deliveryText}.`;
}

function renderOpenAlerts({rules, open, uncheckedSince}: Story, context: PageContext): SafeHtml {
  const isChecked = uncheckedSince === null || rules.length === 0;
  const lastCheck = isChecked
    ? ''
    : html`<p>${renderMark('bad', 'not checked')} since ${renderTime(
        uncheckedSince,
        context,
      )}: no worker is alive. <a href="${linkTo(context, '/')}">Overview</a> shows what is wrong
      now.</p>`;
  const hasSeveral = context.seen.length > 1;
  if (!isChecked && open.length === 0) return html`${lastCheck}`;
  return html`${lastCheck}${renderTable({
    caption: 'What is wrong now, the oldest first',
    columns: [
      {head: 'what', isTitle: true},
      ...(hasSeveral ? ['account'] : []),
      {head: 'in words', isTitle: true},
      'since',
      'found',
    ],
    rows: open.map(({cause, account, stream, text, nextStep, since, openedAt}) => {
      const link = linkToProblem({kind: cause, stream, account}, context);
      return [
        renderMark('bad', cause),
        ...(hasSeveral ? [account ?? ''] : []),
        html`<span class="what">${renderProse(
          stream === null ? text : `${stream}: ${text}`,
          context,
        )}${
          link === null ? '' : html` <a class="whole" href="${link}">${nameLink(link)}</a>`
        }</span><small>${nextStep === null ? '' : `${nextStep}; `}${renderCause(cause)}</small>`,
        renderTime(since, context),
        renderTime(openedAt, context),
      ];
    }),
    none: 'Nothing. Problems are checked for once a minute, as long as there is a rule.',
    isStacked: true,
  })}`;
}

const deliveryTones: Readonly<Record<PastDelivery['state'], Tone>> = {
  due: 'busy',
  sending: 'busy',
  sent: 'good',
  folded: 'quiet',
  dropped: 'quiet',
  failed: 'bad',
};
const deliveryLabels: Readonly<Record<PastDelivery['state'], string>> = {
  due: 'to be sent',
  sending: 'being sent',
  sent: 'taken',
  folded: 'in a digest',
  dropped: 'fixed before it was sent',
  failed: 'given up',
};

function renderDeliveries(deliveries: readonly PastDelivery[], context: PageContext): SafeHtml {
  return renderTable({
    caption: 'Messages to receivers, the newest first',
    columns: [
      {head: 'state', isTitle: true},
      'rule',
      'message',
      {head: 'tries', kind: 'number'},
      'made',
      'taken',
      'next try',
    ],
    rows: deliveries.map((delivery) => [
      html`${renderDeliveryState(delivery)}${renderSmall(
        delivery.state === 'sent' ? null : delivery.lastError,
      )}`,
      delivery.rule,
      html`<span class="what">${renderProse(describeDelivery(delivery), context)}</span>`,
      delivery.attempts,
      renderTime(delivery.createdAt, context),
      renderTime(delivery.sentAt, context),
      delivery.state === 'due' ? renderTime(delivery.dueAt, context) : '',
    ]),
    none: 'None yet.',
    isStacked: true,
  });
}

function renderDeliveryState({state, lastError}: PastDelivery): SafeHtml {
  return state === 'due' && lastError !== null
    ? renderMark('warning', 'not taken yet')
    : renderMark(deliveryTones[state], deliveryLabels[state]);
}

function describeDelivery({kind, text, folded}: PastDelivery): string {
  if (kind === 'ping') return 'a ping';
  if (kind === 'digest') return `a digest of ${formatNumber(folded)}`;
  return kind === 'resolved' ? `fixed: ${text}` : (text ?? '');
}

/** The rules, and whether their messages arrive. An address is a secret: only its host is shown. */
function renderRules(rules: readonly RuleStatus[], context: PageContext): SafeHtml {
  return renderTable({
    caption: 'Rules: who is notified, of what, and whether it arrives',
    columns: [
      {head: 'rule', isTitle: true},
      'notifies',
      'of',
      'messages',
      'last taken',
      {head: 'waiting', kind: 'number'},
      'quiet for',
      ...(may(context, 'admin') ? ['steps'] : []),
    ],
    rows: rules.map((rule) => [
      rule.name,
      html`${rule.target}<small>${describeReceiver(rule)}</small>`,
      html`<span class="what">${describeRuleScope(rule)}</span>`,
      renderArrival(rule, context),
      rule.lastSentAt === null ? 'never' : renderTime(rule.lastSentAt, context),
      rule.waiting,
      rule.everyMs === null ? formatDuration(rule.quietMs) : '',
      ...(may(context, 'admin') ? [renderSteps(rule, context)] : []),
    ]),
    none: 'No one. A rule notifies a person, a program or a dead man’s switch of what is wrong.',
    isStacked: true,
  });
}

function describeReceiver({receiver, everyMs}: RuleStatus): string {
  return everyMs === null ? `by ${receiver}` : `by ${receiver}, every ${formatDuration(everyMs)}`;
}

function renderArrival(rule: RuleStatus, context: PageContext): SafeHtml {
  const {name, receiver, hasAddress, failingSince, lastError, givenUp, lastSentAt} = rule;
  if (!hasAddress)
    return html`${renderMark('warning', 'no address')}${renderSmall(
      `It waits for it: ${describeAddressStep(name, receiver)}`,
    )}`;
  if (failingSince === null)
    return lastSentAt === null
      ? renderMark('quiet', 'none was sent')
      : renderMark('good', 'arrive');
  const givenUpText = givenUp === 0 ? '' : ` ${formatNumber(givenUp)} given up.`;
  const reason = lastError ?? 'no worker has sent them: fieldmirror status shows why';
  return html`${renderMark('bad', 'do not arrive')} since ${renderTime(
    failingSince,
    context,
  )}${renderSmall(`${reason}.${givenUpText}`)}`;
}

function renderSteps({name}: RuleStatus, context: PageContext): SafeHtml {
  const makePath = (step: string) => `/alerts/${encodeURIComponent(name)}/${step}`;
  return html`${renderForm(context, {
    to: makePath('test'),
    role: 'admin',
    label: 'Test',
  })}${renderForm(context, {
    to: makePath('remove'),
    role: 'admin',
    label: 'Remove',
    isGrave: true,
  })}`;
}

type PageAddress = readonly [path: string, filters?: Readonly<Record<string, string>>];

const pagesByCause: Readonly<Partial<Record<Problem['kind'], PageAddress>>> = {
  copy: ['/health'],
  'stopped-account': ['/accounts'],
  unserved: ['/accounts'],
  failed: ['/sweeps', {mode: 'full', state: 'failed'}],
  approval: ['/sweeps', {mode: 'full', state: 'stopped'}],
  unproven: ['/sweeps', {mode: 'full'}],
  'no-room': ['/sweeps', {state: 'due'}],
  overdue: ['/health'],
  'no-worker': ['/health'],
  'star-behind': ['/health'],
  growth: ['/health'],
  quarantine: ['/quarantine'],
  drift: ['/fields'],
  'alerts-failing': ['/alerts'],
  'hook-failing': ['/alerts'],
};

/** The page on which a person can deal with a problem; null if there is none. */
export function linkToProblem(
  {kind, stream, account}: Pick<Problem, 'stream' | 'account'> & {readonly kind: string},
  context: PageContext,
): string | null {
  const [, state] = /^change-(.+)$/.exec(kind) ?? [];
  const [path, filters = {}] =
    state === undefined
      ? (new Map(Object.entries(pagesByCause)).get(kind) ?? [null])
      : (['/changes', {state: 'needy'}] as const);
  if (path === null) return null;
  const accountName = context.seen.length > 1 ? account : undefined;
  return linkTo(context, path, {
    ...filters,
    ...(['/sweeps', '/quarantine'].includes(path) ? {stream} : {}),
    account: accountName,
  });
}

/** `Open sweeps`, for the address of the list of sweeps. */
export function nameLink(address: string): string {
  return `Open ${/^\/(\w+)/.exec(address)?.[1] ?? 'it'}`;
}

/** Sends a made-up alert, and shows the receiver's answer. */
export const testRuleAction = defineAction({
  path: '/alerts/:rule/test',
  name: 'alerts.test',
  role: 'admin',
  form: z.object({}),
  prepare: async ({params, services}) => await services.testRule(params.rule ?? ''),
  act: async (_db, {params}, answer) => ({
    subject: `alert rule ${params.rule}`,
    accountId: null,
    after: {answer},
    message: answer,
  }),
});

export const removeRule = defineAction({
  path: '/alerts/:rule/remove',
  name: 'alerts.remove',
  role: 'admin',
  form: z.object({}),
  act: async (db, {params: {rule = ''}}) => {
    if (!(await deleteRule(db, rule))) throw makeNotFound(`alert rule ${JSON.stringify(rule)}`);
    return {
      subject: `alert rule ${rule}`,
      accountId: null,
      after: {state: 'removed'},
      message: `${rule} no longer notifies anyone.`,
    };
  },
});
