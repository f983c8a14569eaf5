import {html, type SafeHtml} from '@remix-run/html-template';
import {formatNumber} from '../core/format.ts';
import type {DeadLetter} from '../feed/dead-letters.ts';
import type {FeedHook} from '../feed/feed-hooks.ts';
import {drawForm} from './draw-form.ts';
import {drawMark} from './draw-mark.ts';
import {drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {type Look, may} from './look.ts';

/**
 * Subscribers of the feed, and how far each is. An address is a secret: its host is all that is
 * shown.
 */
export function drawSubscribers(hooks: readonly FeedHook[], look: Look): SafeHtml {
  return drawTable({
    caption: 'Subscribers of the feed: where it is sent, and how far each is',
    columns: [
      'subscriber',
      'at',
      'of',
      'state',
      'last taken',
      {head: 'behind', kind: 'number'},
      {head: 'dead letters', kind: 'number'},
      ...(may(look, 'admin') ? ['steps'] : []),
    ],
    rows: hooks.map((hook) => [
      hook.name,
      hook.target,
      html`<span class="what">${tellScope(hook)}</span>`,
      drawState(hook, look),
      hook.sentAt === null ? 'never' : drawTime(hook.sentAt, look),
      hook.behind ?? 'its cursor is of another feed',
      hook.deadLetters,
      ...(may(look, 'admin') ? [drawSteps(hook, look)] : []),
    ]),
    none: 'None. fieldmirror hooks add makes one, and shows the secret that signs its messages.',
  });
}

function tellScope({account, tables}: FeedHook): string {
  const of = [account, tables?.join(', ') ?? null].filter((part) => part !== null).join(': ');
  return of === '' ? 'everything' : of;
}

function drawState(
  {stoppedAt, failingSince, lastError, attempts, ...hook}: FeedHook,
  look: Look,
): SafeHtml {
  const why = lastError === null ? '' : html`<small>${lastError}</small>`;
  if (stoppedAt !== null)
    return html`${drawMark('bad', 'stopped')} since ${drawTime(stoppedAt, look)}${why}`;
  if (failingSince !== null) {
    const tries = attempts === 1 ? 'once' : `${formatNumber(attempts)} times`;
    return html`${drawMark('bad', 'takes nothing')} since ${drawTime(failingSince, look)}, tried ${tries}${why}`;
  }
  if (!hook.hasAddress)
    return html`${drawMark('warning', 'no address')}<small>It waits for it: fieldmirror hooks add ${hook.name} --url URL</small>`;
  if (hook.isUntaken)
    return html`${drawMark('warning', 'no worker sends')}<small>No worker has the key ${hook.keyId}: give it to start in FIELDMIRROR_KEY.</small>`;
  return hook.sentAt === null ? drawMark('quiet', 'none was sent') : drawMark('good', 'arrives');
}

/** What a person may do where a subscriber takes nothing: nothing else needs one. */
function drawSteps({name, stoppedAt, failingSince}: FeedHook, look: Look): SafeHtml | string {
  if (stoppedAt === null && failingSince === null) return '';
  const to = (step: string) => `/alerts/hooks/${encodeURIComponent(name)}/${step}`;
  return html`${drawForm(look, {to: to('retry'), role: 'admin', label: 'Send again'})}${drawForm(
    look,
    {
      to: to('skip'),
      role: 'admin',
      label: 'Pass over',
      isGrave: true,
    },
  )}`;
}

/** Messages that were passed over; nothing where there is none. */
export function drawLetters(letters: readonly DeadLetter[], look: Look): SafeHtml | string {
  if (letters.length === 0) return '';
  return html`<h3>Dead letters</h3>${drawTable({
    caption: 'Messages of the feed that were passed over, the oldest first',
    columns: [
      {head: 'letter', kind: 'number'},
      'subscriber',
      'not taken because',
      {head: 'tries', kind: 'number'},
      'passed over',
      ...(may(look, 'admin') ? ['steps'] : []),
    ],
    rows: letters.map(({letterId, hook, reason, attempts, skippedAt, skippedBy}) => [
      letterId,
      hook,
      html`<span class="what">${reason}</span>`,
      attempts,
      html`${drawTime(skippedAt, look)}<small>by ${skippedBy}</small>`,
      ...(may(look, 'admin') ? [drawLetterSteps(hook, letterId, look)] : []),
    ]),
    none: '',
  })}`;
}

function drawLetterSteps(hook: string, letterId: string, look: Look): SafeHtml {
  const to = (step: string) =>
    `/alerts/hooks/${encodeURIComponent(hook)}/letters/${letterId}/${step}`;
  return html`${drawForm(look, {to: to('retry'), role: 'admin', label: 'Send now'})}${drawForm(
    look,
    {
      to: to('skip'),
      role: 'admin',
      label: 'Drop',
      isGrave: true,
    },
  )}`;
}
