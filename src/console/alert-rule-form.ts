// The form that makes an alert rule: first who is told, then where, and at last of what. The fields
// of other receivers are hidden by the style sheet, without scripts.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import {insertRule} from '../alerts/rules.ts';
import {type Cause, causeNumbers, receivers, UsageError} from '../core/errors.ts';
import {findCodeSection} from '../core/package.ts';
import {findSeen} from './access.ts';
import {defineAction, type Look, may} from './page.ts';
import {drawForm, drawOption} from './render.ts';

const choices: Readonly<
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
const inOrder = ['email', 'slack', 'webhook', 'ping'] as const;

interface CauseGroup {
  readonly name: string;
  readonly sentence: string;
  readonly causes: readonly Cause[];
}

/** Every cause, by who can do something about it. */
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

/** What a cause means, in the words of its document. */
export function tellMeaning(cause: Cause): string {
  const section = findCodeSection(causeNumbers[cause])?.text ?? '';
  return (/\*\*(.+?)\*\*/s.exec(section)?.[1] ?? '').replaceAll(/\s+/g, ' ');
}

export function drawAddingRule(look: Look): SafeHtml | string {
  if (!may(look, 'admin')) return '';
  return html`<details><summary>Add a rule</summary>
    <p>A worker tells within a minute what is wrong already. The address is sealed with the first
      key of FIELDMIRROR_KEY, and is never shown again.</p>
    <div class="rule">${drawForm(look, {
      to: '/alerts/add',
      role: 'admin',
      label: 'Make the rule',
      fields: html`${drawReceivers()}${drawAddress(look)}${drawCauses()}`,
    })}</div></details>`;
}

function drawReceivers(): SafeHtml {
  return html`<fieldset><legend>1. Who is told?</legend>${inOrder.map((receiver) =>
    drawRadio('receiver', receiver, {
      isChosen: receiver === 'email',
      label: choices[receiver].label,
    }),
  )}</fieldset>`;
}

function drawRadio(
  name: string,
  value: string,
  {isChosen, label}: {readonly isChosen: boolean; readonly label: string},
): SafeHtml {
  const checked = isChosen ? html` checked` : '';
  return html`<label><input type="radio" name="${name}" value="${value}"${checked}> ${
    label
  }</label>`;
}

function drawAddress(look: Look): SafeHtml {
  const names = ['', ...look.seen.map(({name}) => name)];
  return html`<fieldset class="filters"><legend>2. Where, and how often?</legend>
    ${inOrder.map(
      (receiver) => html`<p class="small" data-for="${receiver}">${choices[receiver].address}</p>`,
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
      drawOption(name, name === '', name === '' ? 'all' : name),
    )}</select></label></fieldset>`;
}

function drawCauses(): SafeHtml {
  return html`<fieldset><legend>3. Of what?</legend>
    ${drawRadio('scope', 'everything', {isChosen: true, label: 'everything'})}
    ${drawRadio('scope', 'these', {isChosen: false, label: 'these alone'})}
    <div class="cards" data-for="these">${causeGroups.map(drawGroup)}</div></fieldset>`;
}

function drawGroup({name, sentence, causes}: CauseGroup): SafeHtml {
  return html`<fieldset class="card"><legend>${name}</legend><p class="small">${
    sentence
  }</p>${causes.map(drawCauseBox)}</fieldset>`;
}

function drawCauseBox(cause: Cause): SafeHtml {
  const words = html`<span>${cause}<small>${tellMeaning(cause)}</small></span>`;
  return html`<label><input type="checkbox" name="causes" value="${cause}"> ${words}</label>`;
}

const text = z.string().trim();
const optional = text.transform((given) => (given === '' ? null : given)).default(null);
/** A box that is ticked alone comes as a text, several as a list. */
const causeWords = z
  .union([z.array(z.string()), z.string().transform((word) => (word === '' ? [] : [word]))])
  .default([]);

/** Makes a rule; its address is sealed before the transaction, and is in no answer and no entry. */
export const addRule = defineAction({
  path: '/alerts/add',
  name: 'alerts.add',
  role: 'admin',
  form: z.object({
    name: text,
    receiver: z.enum(receivers),
    address: text,
    smtp: optional,
    every: optional,
    quiet: optional,
    account: z.string().default(''),
    scope: z.enum(['everything', 'these']).optional(),
    causes: causeWords,
  }),
  prepare: async ({given: {scope, ...given}, doings}) => {
    // What was ticked before somebody chose everything is hidden, and is sent all the same.
    const causes = scope === 'everything' ? [] : given.causes;
    if (scope === 'these' && causes.length === 0)
      throw new UsageError('expected at least one cause, or everything; none was ticked');
    return await doings.planRule({...given, causes});
  },
  act: async (db, {seen, given: {account}}, {plan, secret}) => {
    const accountId = account === '' ? null : findSeen(seen, account).accountId;
    const {name, receiver, target, causes, quietMs, everyMs} = plan;
    if (!(await insertRule(db, {...plan, accountId})))
      throw new UsageError(`there is an alert rule ${name} already; remove it first`);
    return {
      subject: `alert rule ${name}`,
      accountId,
      after: {receiver, target, causes, quietMs, everyMs},
      said:
        secret === null
          ? `${name} tells ${target} by ${receiver}; test it to see whether it arrives.`
          : `${name} tells ${target}. This signs each message (Standard Webhooks):`,
      to: '/alerts',
      ...(secret === null ? {} : {once: secret}),
    };
  },
});
