import {html, type SafeHtml} from '@remix-run/html-template';
import {tellAddressStep} from '../alerts/address-step.ts';
import type {RuleStatus} from '../alerts/alert-overview.ts';
import {causes} from '../core/errors.ts';
import {formatDuration, formatNumber} from '../core/format.ts';
import {drawForm} from './draw-form.ts';
import {drawMark} from './draw-mark.ts';
import {drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {type Look, may} from './look.ts';

/**
 * The rules, and whether their messages arrive. An address is a secret: its host is all that is
 * shown.
 */
export function drawRules(rules: readonly RuleStatus[], look: Look): SafeHtml {
  return drawTable({
    caption: 'Rules: who is told, of what, and whether it arrives',
    columns: [
      'rule',
      'tells',
      'of',
      'messages',
      'last taken',
      {head: 'waiting', kind: 'number'},
      'quiet for',
      ...(may(look, 'admin') ? ['steps'] : []),
    ],
    rows: rules.map((rule) => [
      rule.name,
      html`${rule.target}<small>${tellMeans(rule)}</small>`,
      html`<span class="what">${tellScope(rule)}</span>`,
      drawArrival(rule, look),
      rule.lastSentAt === null ? 'never' : drawTime(rule.lastSentAt, look),
      rule.waiting,
      rule.everyMs === null ? formatDuration(rule.quietMs) : '',
      ...(may(look, 'admin') ? [drawSteps(rule, look)] : []),
    ]),
    none: 'Nobody. A rule tells a person, a program or a dead man’s switch what is wrong.',
  });
}

function tellMeans({receiver, everyMs}: RuleStatus): string {
  return everyMs === null ? `by ${receiver}` : `by ${receiver}, every ${formatDuration(everyMs)}`;
}

function tellScope({account, causes: told}: RuleStatus): string {
  const of = [account, told?.join(', ') ?? null].filter((part) => part !== null).join(': ');
  return of === '' ? 'everything' : of;
}

function drawArrival(rule: RuleStatus, look: Look): SafeHtml {
  const {name, receiver, hasAddress, failingSince, lastError, givenUp, lastSentAt} = rule;
  if (!hasAddress)
    return html`${drawMark('warning', 'no address')}<small>It waits for it: ${tellAddressStep(name, receiver)}</small>`;
  if (failingSince === null)
    return lastSentAt === null ? drawMark('quiet', 'none was sent') : drawMark('good', 'arrive');
  const lost = givenUp === 0 ? '' : ` ${formatNumber(givenUp)} given up.`;
  return html`${drawMark('bad', 'do not arrive')} since ${drawTime(failingSince, look)}<small>${lastError ?? 'no worker has what it takes to send them: a key, or FIELDMIRROR_SMTP_URL'}.${lost}</small>`;
}

function drawSteps({name}: RuleStatus, look: Look): SafeHtml {
  const to = (step: string) => `/alerts/${encodeURIComponent(name)}/${step}`;
  return html`${drawForm(look, {to: to('test'), role: 'admin', label: 'Test'})}${drawForm(look, {
    to: to('remove'),
    role: 'admin',
    label: 'Remove',
    isGrave: true,
  })}`;
}

export function drawAddingRule(look: Look): SafeHtml | string {
  if (!may(look, 'admin')) return '';
  return html`<details><summary>Add a rule</summary>
    <p>The address is sealed with the first key of FIELDMIRROR_KEY, and is never shown again. A worker tells within a minute what is wrong already.</p>
    ${drawForm(look, {
      to: '/alerts/add',
      role: 'admin',
      label: 'Make the rule',
      fields: html`<label>Name <input name="name" required maxlength="50" pattern="[A-Za-z0-9][A-Za-z0-9._\\-]*"></label>
        <label>By <select name="receiver"><option value="email">e-mail</option><option>slack</option><option>webhook</option><option value="ping">ping: comes while nothing is wrong</option></select></label>
        <label>Address <input name="address" required autocomplete="off" size="34" placeholder="ops@example.com or https://…"></label>
        <label>Server of e-mail <input name="smtp" type="password" autocomplete="off" placeholder="FIELDMIRROR_SMTP_URL"></label>
        <label>A ping every <input name="every" size="5" placeholder="5m"></label>
        <label>Quiet for <input name="quiet" size="5" placeholder="4h"></label>
        <label>Account <select name="account"><option value="">all</option>${look.seen.map(
          ({name}) => html`<option>${name}</option>`,
        )}</select></label>
        <fieldset><legend>Tells of these alone; of everything where none is ticked</legend>${causes.map(
          (cause) =>
            html`<label><input type="checkbox" name="causes" value="${cause}"> ${cause}</label>`,
        )}</fieldset>`,
    })}</details>`;
}
