import {html, type SafeHtml} from '@remix-run/html-template';
import {type AlertOverview, readAlertOverview} from '../alerts/alert-overview.ts';
import type {Alert} from '../alerts/alerts.ts';
import {listPastDeliveries, type PastDelivery} from '../alerts/past-deliveries.ts';
import {causeNumbers} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {type DeadLetter, listDeadLetters} from '../feed/dead-letters.ts';
import {type FeedHook, listHooks} from '../feed/feed-hooks.ts';
import {linkOfConcern} from './concern-link.ts';
import {drawMark, type Tone} from './draw-mark.ts';
import {drawAddingRule, drawRules} from './draw-rules.ts';
import {drawLetters, drawSubscribers} from './draw-subscribers.ts';
import {drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import type {Look} from './look.ts';
import {type Asked, definePage, hidden} from './page.ts';
import {drawPageLink} from './serve-documents.ts';

interface Story extends AlertOverview {
  /** The newest first. */
  readonly deliveries: readonly PastDelivery[];
  /** Subscribers of the feed, by name. */
  readonly hooks: readonly FeedHook[];
  /** Messages that a person passed over, the oldest first. */
  readonly letters: readonly DeadLetter[];
}

const shownDeliveries = 50;

export const alertsPage = definePage<Story>({
  path: '/alerts',
  section: '/alerts',
  moving: ['alerts', 'alert_rules', 'alert_deliveries', 'feed_hooks', 'feed_dead_letters'],
  read: readStory,
  title: () => 'Alerts',
  draw: (story, look) => html`
    <p class="lead">${summarise(story)}</p>
    <h2>Wrong now</h2>
    ${drawOpen(story.open, look)}
    <h2>Who is told</h2>
    ${drawRules(story.rules, look)}
    ${drawAddingRule(look)}
    <h2>Messages</h2>
    ${drawDeliveries(story.deliveries, look)}
    <h2>Subscribers of the feed</h2>
    ${drawSubscribers(story.hooks, look)}
    ${drawLetters(story.letters, look)}`,
  hide: (story) => ({
    ...story,
    rules: story.rules.map((rule) =>
      rule.receiver === 'email' ? {...rule, target: hidden} : rule,
    ),
  }),
  elsewhere: () => ({
    command: 'fieldmirror alerts list && fieldmirror hooks list',
    sql: 'SELECT cause, stream, since, text FROM sync.alerts WHERE mended_at IS NULL ORDER BY opened_at;\nSELECT * FROM sync.alert_deliveries ORDER BY delivery_id DESC LIMIT 50;\nSELECT name, cursor, attempts, failing_since, stopped_at, sent_at FROM sync.feed_hooks ORDER BY name;',
  }),
});

/**
 * Somebody who is bound to an account sees the rules, alerts and subscribers of that account alone.
 */
async function readStory({db, seen, seesAll, accounts}: Asked): Promise<Story> {
  const {rules, open} = await readAlertOverview(db);
  const names = accounts.map(({name}) => name);
  const isSeen = ({accountId}: {readonly accountId: string | null}) =>
    seesAll || seen.some((account) => account.accountId === accountId);
  const shown = rules.filter(isSeen);
  const hooks = (await listHooks(db)).filter(isSeen);
  return {
    rules: shown,
    open: open.filter(({account}) => (account === null ? seesAll : names.includes(account))),
    deliveries: await listPastDeliveries(db, {
      rules: shown.map(({name}) => name),
      limit: shownDeliveries,
    }),
    hooks,
    letters: (await listDeadLetters(db)).filter(({hook}) => hooks.some(({name}) => name === hook)),
  };
}

function summarise({rules, open}: Story): string {
  if (rules.length === 0) return 'Nobody is told what is wrong: there is no rule yet.';
  const failing = rules.filter(({failingSince}) => failingSince !== null).length;
  const wrong =
    open.length === 0
      ? 'Nothing is wrong that a rule tells of'
      : open.length === 1
        ? 'One thing is wrong'
        : `${formatNumber(open.length)} things are wrong`;
  const arriving =
    failing === 0
      ? rules.every(({lastSentAt}) => lastSentAt === null)
        ? 'no message was sent yet'
        : 'messages arrive'
      : failing === 1
        ? 'the messages of one rule do not arrive'
        : `the messages of ${formatNumber(failing)} rules do not arrive`;
  return `${wrong}; ${arriving}.`;
}

function drawOpen(open: readonly Alert[], look: Look): SafeHtml {
  const hasSeveral = look.seen.length > 1;
  return drawTable({
    caption: 'What is wrong now, the oldest first',
    columns: ['what', ...(hasSeveral ? ['account'] : []), 'in words', 'since', 'found'],
    rows: open.map(({cause, account, stream, text, nextStep, since, openedAt}) => {
      const link = linkOfConcern({kind: cause, stream, account}, look);
      return [
        drawMark('bad', cause),
        ...(hasSeveral ? [account ?? ''] : []),
        html`<span class="what">${stream === null ? '' : `${stream}: `}${text}${
          link === null ? '' : html` <a href="${link}">Look</a>`
        }</span><small>${nextStep === null ? '' : `${nextStep}; `}see ${drawPageLink(causeNumbers[cause])}</small>`,
        drawTime(since, look),
        drawTime(openedAt, look),
      ];
    }),
    none: 'Nothing. What is wrong is looked for once a minute, as long as there is a rule.',
  });
}

const tones: Readonly<Record<PastDelivery['state'], Tone>> = {
  due: 'busy',
  sending: 'busy',
  sent: 'good',
  folded: 'quiet',
  dropped: 'quiet',
  failed: 'bad',
};
const words: Readonly<Record<PastDelivery['state'], string>> = {
  due: 'to be sent',
  sending: 'being sent',
  sent: 'taken',
  folded: 'in a digest',
  dropped: 'mended before it was sent',
  failed: 'given up',
};

function drawDeliveries(deliveries: readonly PastDelivery[], look: Look): SafeHtml {
  return drawTable({
    caption: 'Messages to receivers, the newest first',
    columns: [
      'state',
      'rule',
      'tells',
      {head: 'tries', kind: 'number'},
      'made',
      'taken',
      'next try',
    ],
    rows: deliveries.map((delivery) => [
      html`${drawDeliveryState(delivery)}${delivery.state === 'sent' || delivery.lastError === null ? '' : html`<small>${delivery.lastError}</small>`}`,
      delivery.rule,
      html`<span class="what">${tellDelivery(delivery)}</span>`,
      delivery.attempts,
      drawTime(delivery.createdAt, look),
      drawTime(delivery.sentAt, look),
      delivery.state === 'due' ? drawTime(delivery.dueAt, look) : '',
    ]),
    none: 'None yet.',
  });
}

function drawDeliveryState({state, lastError}: PastDelivery): SafeHtml {
  return state === 'due' && lastError !== null
    ? drawMark('warning', 'not taken yet')
    : drawMark(tones[state], words[state]);
}

function tellDelivery({kind, text, folded}: PastDelivery): string {
  if (kind === 'ping') return 'a ping';
  if (kind === 'digest') return `a digest of ${formatNumber(folded)}`;
  return kind === 'mended' ? `mended: ${text}` : (text ?? '');
}
