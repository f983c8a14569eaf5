// The receivers of messages: parts of the page of alerts. The form for an alert rule: first the
// receiver, then the address, and last the causes. The style sheet hides the fields of other
// receivers, without scripts. The subscribers of the feed, and the decisions about those that
// accept nothing: `hooks retry` and `hooks skip` of the terminal.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import {insertRule} from '../alerts/alerts.ts';
import {type Cause, causeNumbers, receivers, UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {findCodeSection} from '../core/package.ts';
import {
  type DeadLetter,
  deleteDeadLetter,
  describeHookScope,
  type FeedHook,
  listHooks,
  readDeadLetter,
  refuseWaiting,
  retryHook,
  skipBatch,
} from '../feed/hooks.ts';
import type {Queryable} from '../postgres/database.ts';
import {findSeenAccount, makeNotFound} from './access.ts';
import {defineAction, may, type PageContext, type PostRequest} from './page.ts';
import {
  renderForm,
  renderMark,
  renderOption,
  renderSmall,
  renderTable,
  renderTime,
} from './render.ts';

const receiverChoices: Readonly<
  Record<(typeof receivers)[number], {readonly label: string; readonly address: string}>
> = {
  email: {label: 'E-mail to a person', address: 'One address of e-mail: ops@example.com.'},
  slack: {
    label: 'A channel of Slack',
    address: 'The address of an incoming webhook: https://hooks.slack.com/…',
  },
  webhook: {
    label: 'A program, by webhook',
    address: 'An address of https. What signs its messages is shown once, when the rule is made.',
  },
  ping: {
    label: 'A dead man’s switch: a ping while nothing is wrong',
    address: 'An address of https that is called as long as nothing is wrong.',
  },
};
const receiverOrder = ['email', 'slack', 'webhook', 'ping'] as const;

interface CauseGroup {
  readonly name: string;
  readonly sentence: string;
  readonly causes: readonly Cause[];
}

/** Every cause, grouped by the people who can do something about it. */
export const causeGroups: readonly CauseGroup[] = [
  {
    name: 'Reading from the service',
    sentence: 'Rows may be old or missing: for those who watch over the accounts.',
    causes: [
      ...(['stopped-account', 'unserved', 'overdue', 'unproven', 'failed', 'approval'] as const),
      ...(['no-room', 'quarantine', 'drift'] as const),
    ],
  },
  {
    name: 'Changes to the service',
    sentence: 'An edit made here waits or was refused: for those who make the edits.',
    causes: [
      ...(['change-conflict', 'change-altered', 'change-rejected'] as const),
      ...(['change-in-doubt', 'change-failing', 'change-untaken', 'change-held'] as const),
    ],
  },
  {
    name: 'The installation',
    sentence: 'Workers, database, figures, reports and messages: for those who operate it.',
    causes: [
      ...(['copy', 'no-worker', 'part-late', 'held-up', 'growth', 'star-behind'] as const),
      ...(['alerts-failing', 'hook-failing', 'not-delivered', 'report-unsent'] as const),
    ],
  },
];

/** The meaning of a cause, in the words of its document. */
export function describeMeaning(cause: Cause): string {
  const section = findCodeSection(causeNumbers[cause])?.text ?? '';
  return (/\*\*(.+?)\*\*/s.exec(section)?.[1] ?? '').replaceAll(/\s+/g, ' ');
}

export function renderAddRuleForm(context: PageContext): SafeHtml | string {
  if (!may(context, 'admin')) return '';
  return html`<details><summary>Add a rule</summary>
    <p>A worker reports within a minute what is wrong already. The address is sealed with the first
      key of FIELDMIRROR_KEY, and is never shown again.</p>
    <div class="rule">${renderForm(context, {
      to: '/alerts/add',
      role: 'admin',
      label: 'Make the rule',
      fields: html`${renderReceivers()}${renderAddress(context)}${renderCauses()}`,
    })}</div></details>`;
}

function renderReceivers(): SafeHtml {
  return html`<fieldset><legend>1. Who is notified?</legend>${receiverOrder.map((receiver) =>
    renderRadio('receiver', receiver, {
      isChosen: receiver === 'email',
      label: receiverChoices[receiver].label,
    }),
  )}</fieldset>`;
}

function renderRadio(
  name: string,
  value: string,
  {isChosen, label}: {readonly isChosen: boolean; readonly label: string},
): SafeHtml {
  const checked = isChosen ? html` checked` : '';
  return html`<label><input type="radio" name="${name}" value="${value}"${checked}> ${
    label
  }</label>`;
}

function renderAddress(context: PageContext): SafeHtml {
  const names = ['', ...context.seen.map(({name}) => name)];
  return html`<fieldset class="filters"><legend>2. Where, and how often?</legend>
    ${receiverOrder.map(
      (receiver) =>
        html`<p class="small" data-for="${receiver}">${receiverChoices[receiver].address}</p>`,
    )}
    <label>Name <input name="name" required maxlength="50"
      pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*"></label>
    <label>Address <input name="address" required autocomplete="off" size="34"></label>
    <label data-for="email">Server of e-mail <input name="smtp" type="password"
      autocomplete="off" placeholder="FIELDMIRROR_SMTP_URL"></label>
    <label data-for="ping">A ping every <input name="every" size="5" placeholder="5m"></label>
    <label data-for="email slack webhook">Quiet for
      <input name="quiet" size="5" placeholder="4h"></label>
    <label>Account <select name="account">${names.map((name) =>
      renderOption(name, name === '', name === '' ? 'all' : name),
    )}</select></label></fieldset>`;
}

function renderCauses(): SafeHtml {
  return html`<fieldset><legend>3. Of what?</legend>
    ${renderRadio('scope', 'everything', {isChosen: true, label: 'everything'})}
    ${renderRadio('scope', 'these', {isChosen: false, label: 'these alone'})}
    <div class="cards" data-for="these">${causeGroups.map(renderCauseGroup)}</div></fieldset>`;
}

function renderCauseGroup({name, sentence, causes}: CauseGroup): SafeHtml {
  return html`<fieldset class="card"><legend>${name}</legend><p class="small">${
    sentence
  }</p>${causes.map(renderCauseBox)}</fieldset>`;
}

function renderCauseBox(cause: Cause): SafeHtml {
  const label = html`<span>${cause}<small>${describeMeaning(cause)}</small></span>`;
  return html`<label><input type="checkbox" name="causes" value="${cause}"> ${label}</label>`;
}

const textField = z.string().trim();
const optionalTextField = textField
  .transform((value) => (value === '' ? null : value))
  .default(null);
/** One ticked box is sent as a text, several as a list. */
const causesField = z
  .union([z.array(z.string()), z.string().transform((value) => (value === '' ? [] : [value]))])
  .default([]);

/** Makes a rule; its address is sealed before the transaction, and is in no answer and no entry. */
export const addRule = defineAction({
  path: '/alerts/add',
  name: 'alerts.add',
  role: 'admin',
  form: z.object({
    name: textField,
    receiver: z.enum(receivers),
    address: textField,
    smtp: optionalTextField,
    every: optionalTextField,
    quiet: optionalTextField,
    account: z.string().default(''),
    scope: z.enum(['everything', 'these']).optional(),
    causes: causesField,
  }),
  prepare: async ({fields: {scope, ...fields}, services}) => {
    // Boxes that were ticked before a person chose everything are hidden, and are still sent.
    const causes = scope === 'everything' ? [] : fields.causes;
    if (scope === 'these' && causes.length === 0)
      throw new UsageError('expected at least one cause, or everything; none was ticked');
    return await services.planRule({...fields, causes});
  },
  act: async (db, {seen, fields: {account}}, {plan, secret}) => {
    const accountId = account === '' ? null : findSeenAccount(seen, account).accountId;
    const {name, receiver, target, causes, quietMs, everyMs} = plan;
    if (!(await insertRule(db, {...plan, accountId})))
      throw new UsageError(`there is an alert rule ${name} already; remove it first`);
    return {
      subject: `alert rule ${name}`,
      accountId,
      after: {receiver, target, causes, quietMs, everyMs},
      message:
        secret === null
          ? `${name} notifies ${target} by ${receiver}; test it to see whether it arrives.`
          : `${name} notifies ${target}. This signs each message (Standard Webhooks):`,
      to: '/alerts',
      ...(secret === null ? {} : {once: secret}),
    };
  },
});

/** Subscribers of the feed, and how far each is. An address is a secret: only its host is shown. */
export function renderSubscribers(hooks: readonly FeedHook[], context: PageContext): SafeHtml {
  return renderTable({
    caption: 'Subscribers of the feed: where it is sent, and how far each is',
    isStacked: true,
    columns: [
      {head: 'subscriber', isTitle: true},
      'sends',
      'state',
      'last taken',
      {head: 'behind', kind: 'number'},
      {head: 'dead letters', kind: 'number'},
      ...(may(context, 'admin') ? ['steps'] : []),
    ],
    rows: hooks.map((hook) => [
      html`${hook.name}<small>${hook.target}</small>`,
      html`<span class="what">${describeHookScope(hook)}</span>`,
      renderHookState(hook, context),
      hook.sentAt === null ? 'never' : renderTime(hook.sentAt, context),
      hook.behind ?? 'its cursor is of another feed',
      hook.deadLetters,
      ...(may(context, 'admin') ? [renderHookSteps(hook, context)] : []),
    ]),
    none: 'None. fieldmirror hooks add makes one, and shows the secret that signs its messages.',
  });
}

function renderHookState(
  {stoppedAt, failingSince, lastError, attempts, ...hook}: FeedHook,
  context: PageContext,
): SafeHtml {
  const reason = renderSmall(lastError);
  if (stoppedAt !== null)
    return html`${renderMark('bad', 'stopped')} since ${renderTime(stoppedAt, context)}${reason}`;
  if (failingSince !== null) {
    const tries = attempts === 1 ? 'once' : `${formatNumber(attempts)} times`;
    return html`${renderMark('bad', 'takes nothing')} since ${renderTime(
      failingSince,
      context,
    )}, tried ${tries}${reason}`;
  }
  if (!hook.hasAddress)
    return html`${renderMark('warning', 'no address')}${renderSmall(
      `It waits for it: fieldmirror hooks add ${hook.name} --url URL`,
    )}`;
  if (hook.isUntaken)
    return html`${renderMark('warning', 'no worker sends')}${renderSmall(
      `No worker has the key ${hook.keyId}: give it to start in FIELDMIRROR_KEY.`,
    )}`;
  return hook.sentAt === null
    ? renderMark('quiet', 'none was sent')
    : renderMark('good', 'arrives');
}

/**
 * Buttons for a subscriber that has stopped or is failing, and the form to start at another cursor.
 */
function renderHookSteps(
  {name, stoppedAt, failingSince, hasAddress}: FeedHook,
  context: PageContext,
): SafeHtml | string {
  if (!hasAddress) return '';
  const makePath = (step: string) => `/alerts/hooks/${encodeURIComponent(name)}/${step}`;
  const decisionForms = html`${renderForm(context, {
    to: makePath('retry'),
    role: 'admin',
    label: 'Send again',
  })}${renderForm(context, {
    to: makePath('skip'),
    role: 'admin',
    label: 'Pass over',
    isGrave: true,
  })}`;
  return html`${stoppedAt === null && failingSince === null ? '' : decisionForms}
    <details><summary>Start elsewhere</summary>${renderForm(context, {
      to: makePath('retry'),
      role: 'admin',
      label: 'Send from there',
      isPlain: true,
      fields: html`<label>Cursor, or end for new entries only
        <input name="after" required value="end" size="24" maxlength="100"
          autocomplete="off"></label>`,
    })}</details>`;
}

/** Messages that were skipped; empty if there is none. */
export function renderDeadLetters(
  letters: readonly DeadLetter[],
  context: PageContext,
): SafeHtml | string {
  if (letters.length === 0) return '';
  return html`<h3>Dead letters</h3>${renderTable({
    caption: 'Messages of the feed that were passed over, the oldest first',
    isStacked: true,
    columns: [
      {head: 'letter', kind: 'number'},
      'subscriber',
      'not taken because',
      {head: 'tries', kind: 'number'},
      'passed over',
      ...(may(context, 'admin') ? ['steps'] : []),
    ],
    rows: letters.map(({letterId, hook, reason, attempts, skippedAt, skippedBy}) => [
      letterId,
      hook,
      html`<span class="what">${reason}</span>`,
      attempts,
      html`${renderTime(skippedAt, context)}<small>by ${skippedBy}</small>`,
      ...(may(context, 'admin') ? [renderLetterSteps(hook, letterId, context)] : []),
    ]),
    none: '',
  })}`;
}

function renderLetterSteps(hook: string, letterId: string, context: PageContext): SafeHtml {
  const makePath = (step: string) =>
    `/alerts/hooks/${encodeURIComponent(hook)}/letters/${letterId}/${step}`;
  return html`${renderForm(context, {
    to: makePath('retry'),
    role: 'admin',
    label: 'Send now',
  })}${renderForm(context, {
    to: makePath('skip'),
    role: 'admin',
    label: 'Drop',
    isGrave: true,
  })}`;
}

const emptyForm = z.object({});

/**
 * Makes a worker send the failed message again at once, even if the subscriber had stopped. With a
 * cursor, that message is dropped, and sending starts there.
 */
export const resendMessage = defineAction({
  path: '/alerts/hooks/:hook/retry',
  name: 'hooks.retry',
  role: 'admin',
  form: z.object({after: optionalTextField}),
  act: async (db, {params, fields: {after}}) => {
    const hook = await findHook(db, params);
    refuseWaiting(hook);
    const cursor = await retryHook(db, hook.name, after);
    return {
      ...describeForAudit(hook),
      after: {state: 'due', cursor},
      message:
        after === null
          ? `${hook.name} is sent its message again at once.`
          : `${hook.name} is sent the feed from cursor ${cursor} on.`,
    };
  },
});

/** Skips a message: it becomes a dead letter, and the subscriber continues after it. */
export const skipMessage = defineAction({
  path: '/alerts/hooks/:hook/skip',
  name: 'hooks.skip',
  role: 'admin',
  form: emptyForm,
  act: async (db, {params}) => {
    const hook = await findHook(db, params);
    const letterId = await skipBatch(db, hook.name);
    if (letterId === null)
      throw new UsageError(`expected a message that ${hook.name} does not take, got none`);
    return {
      ...describeForAudit(hook),
      after: {state: 'due', letter: letterId},
      message: `${hook.name} continues behind the message, which is dead letter ${letterId} now.`,
    };
  },
});

/**
 * Sends a dead letter before the transaction. If the subscriber does not accept it, it stays, and
 * no entry of the audit is written.
 */
export const sendLetter = defineAction({
  path: '/alerts/hooks/:hook/letters/:letter/retry',
  name: 'hooks.retry-letter',
  role: 'admin',
  form: emptyForm,
  prepare: async ({params, services}) =>
    await services.sendLetter(params.hook ?? '', readLetterId(params)),
  act: async (db, {params}, answer) => {
    const hook = await findHook(db, params);
    const letterId = readLetterId(params);
    await deleteDeadLetter(db, letterId);
    return {
      subject: `dead letter ${letterId} of subscriber ${hook.name}`,
      accountId: hook.accountId,
      after: {answer},
      message: answer,
    };
  },
});

/** Deletes a dead letter for good. */
export const dropLetter = defineAction({
  path: '/alerts/hooks/:hook/letters/:letter/skip',
  name: 'hooks.skip-letter',
  role: 'admin',
  form: emptyForm,
  act: async (db, {params}) => {
    const hook = await findHook(db, params);
    const letterId = readLetterId(params);
    const letter = await readDeadLetter(db, {name: hook.name, letterId});
    if (letter === null) throw makeNotFound(`dead letter ${letterId} of ${hook.name}`);
    await deleteDeadLetter(db, letterId);
    const {cursor, batchTo} = letter;
    return {
      subject: `dead letter ${letterId} of subscriber ${hook.name}`,
      accountId: hook.accountId,
      before: {after: cursor, to: batchTo},
      after: {state: 'dropped'},
      message: `Dead letter ${letterId} of ${hook.name} is dropped.`,
    };
  },
});

type Params = PostRequest<unknown>['params'];

/** @throws {AccessRefused} there is none of that name */
async function findHook(db: Queryable, {hook: name = ''}: Params): Promise<FeedHook> {
  const hook = (await listHooks(db)).find((candidate) => candidate.name === name);
  if (hook === undefined) throw makeNotFound(`subscriber ${JSON.stringify(name)}`);
  return hook;
}

/** @throws {AccessRefused} not the number of a letter */
function readLetterId({letter = ''}: Params): string {
  if (!/^\d{1,18}$/.test(letter)) throw makeNotFound(`dead letter ${JSON.stringify(letter)}`);
  return letter;
}

/** The state of a subscriber before the decision, for the audit. */
function describeForAudit({name, accountId, cursor, attempts, ...hook}: FeedHook) {
  const {stoppedAt, failingSince, lastError} = hook;
  const state = stoppedAt !== null ? 'stopped' : failingSince === null ? 'arriving' : 'failing';
  return {
    subject: `subscriber ${name}`,
    accountId,
    before: {state, cursor, attempts, lastError},
  };
}
