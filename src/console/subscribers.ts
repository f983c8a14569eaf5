// Subscribers of the feed, a part of the page of alerts, and how a person decides on those that
// take nothing: `hooks retry` and `hooks skip` of the terminal.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import {UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {
  type DeadLetter,
  deleteDeadLetter,
  type FeedHook,
  listHooks,
  readDeadLetter,
  refuseWaiting,
  retryHook,
  skipBatch,
} from '../feed/hooks.ts';
import type {Queryable} from '../postgres/database.ts';
import {notThere} from './access.ts';
import {defineAction, type Look, may, type Order} from './page.ts';
import {drawForm, drawMark, drawSmall, drawTime, renderTable} from './render.ts';

/**
 * Subscribers of the feed, and how far each is. An address is a secret: its host is all that is
 * shown.
 */
export function drawSubscribers(hooks: readonly FeedHook[], look: Look): SafeHtml {
  return renderTable({
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

function tellScope({account, tables, columns}: FeedHook): string {
  const parts = [account, tables?.join(', ') ?? null, columns?.join(', ') ?? null];
  const of = parts.filter((part) => part !== null).join(': ');
  return of === '' ? 'everything' : of;
}

function drawState(
  {stoppedAt, failingSince, lastError, attempts, ...hook}: FeedHook,
  look: Look,
): SafeHtml {
  const why = drawSmall(lastError);
  if (stoppedAt !== null)
    return html`${drawMark('bad', 'stopped')} since ${drawTime(stoppedAt, look)}${why}`;
  if (failingSince !== null) {
    const tries = attempts === 1 ? 'once' : `${formatNumber(attempts)} times`;
    return html`${drawMark('bad', 'takes nothing')} since ${drawTime(
      failingSince,
      look,
    )}, tried ${tries}${why}`;
  }
  if (!hook.hasAddress)
    return html`${drawMark('warning', 'no address')}${drawSmall(
      `It waits for it: fieldmirror hooks add ${hook.name} --url URL`,
    )}`;
  if (hook.isUntaken)
    return html`${drawMark('warning', 'no worker sends')}${drawSmall(
      `No worker has the key ${hook.keyId}: give it to start in FIELDMIRROR_KEY.`,
    )}`;
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
  return html`<h3>Dead letters</h3>${renderTable({
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

const nothing = z.object({});

/** A worker sends the message that was not taken again at once; one that was stopped goes on. */
export const sendAgain = defineAction({
  path: '/alerts/hooks/:hook/retry',
  name: 'hooks.retry',
  role: 'admin',
  form: nothing,
  act: async (db, {params}) => {
    const hook = await findHook(db, params);
    refuseWaiting(hook);
    await retryHook(db, hook.name, null);
    return {
      ...describe(hook),
      after: {state: 'due'},
      said: `${hook.name} is sent its message again at once.`,
    };
  },
});

/** The message that was not taken becomes a dead letter, and the subscriber goes on behind it. */
export const passOver = defineAction({
  path: '/alerts/hooks/:hook/skip',
  name: 'hooks.skip',
  role: 'admin',
  form: nothing,
  act: async (db, {params}) => {
    const hook = await findHook(db, params);
    const letterId = await skipBatch(db, hook.name);
    if (letterId === null)
      throw new UsageError(`expected a message that ${hook.name} does not take, got none`);
    return {
      ...describe(hook),
      after: {state: 'due', letter: letterId},
      said: `${hook.name} goes on behind the message, which is dead letter ${letterId} now.`,
    };
  },
});

/**
 * Sends a dead letter before the transaction: where it is not taken it stays, and nothing stands in
 * the audit.
 */
export const sendLetter = defineAction({
  path: '/alerts/hooks/:hook/letters/:letter/retry',
  name: 'hooks.retry-letter',
  role: 'admin',
  form: nothing,
  prepare: async ({params, doings}) =>
    await doings.sendLetter(params.hook ?? '', numberOfLetter(params)),
  act: async (db, {params}, answer) => {
    const hook = await findHook(db, params);
    const letterId = numberOfLetter(params);
    await deleteDeadLetter(db, letterId);
    return {
      subject: `dead letter ${letterId} of subscriber ${hook.name}`,
      accountId: hook.accountId,
      after: {answer},
      said: answer,
    };
  },
});

/** A dead letter is dropped for good. */
export const dropLetter = defineAction({
  path: '/alerts/hooks/:hook/letters/:letter/skip',
  name: 'hooks.skip-letter',
  role: 'admin',
  form: nothing,
  act: async (db, {params}) => {
    const hook = await findHook(db, params);
    const letterId = numberOfLetter(params);
    const letter = await readDeadLetter(db, {name: hook.name, letterId});
    if (letter === null) throw notThere(`dead letter ${letterId} of ${hook.name}`);
    await deleteDeadLetter(db, letterId);
    const {cursor, batchTo} = letter;
    return {
      subject: `dead letter ${letterId} of subscriber ${hook.name}`,
      accountId: hook.accountId,
      before: {after: cursor, to: batchTo},
      after: {state: 'dropped'},
      said: `Dead letter ${letterId} of ${hook.name} is dropped.`,
    };
  },
});

type Params = Order<unknown>['params'];

/** @throws {Refused} there is none of that name */
async function findHook(db: Queryable, {hook: name = ''}: Params): Promise<FeedHook> {
  const hook = (await listHooks(db)).find((each) => each.name === name);
  if (hook === undefined) throw notThere(`subscriber ${JSON.stringify(name)}`);
  return hook;
}

/** @throws {Refused} no number of a letter */
function numberOfLetter({letter = ''}: Params): string {
  if (!/^\d{1,18}$/.test(letter)) throw notThere(`dead letter ${JSON.stringify(letter)}`);
  return letter;
}

/** A subscriber before it is decided on, for the audit. */
function describe({name, accountId, cursor, attempts, stoppedAt, lastError}: FeedHook) {
  const state = stoppedAt === null ? 'failing' : 'stopped';
  return {
    subject: `subscriber ${name}`,
    accountId,
    before: {state, cursor, attempts, lastError},
  };
}
