import {html, type SafeHtml} from '@remix-run/html-template';
import type {ChangeInFull} from '../changes/change-in-full.ts';
import {readChangeInFull} from '../changes/change-in-full.ts';
import {listNearestChanges} from '../changes/change-log.ts';
import {nameChange, nameOutcome, nameState, tellReason} from '../changes/change-words.ts';
import {formatNumber} from '../core/format.ts';
import {drawNext} from './draw-change-next.ts';
import {drawRequests} from './draw-change-requests.ts';
import {drawSides} from './draw-change-sides.ts';
import {drawState} from './draw-mark.ts';
import {drawFacts} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {hideChangeInFull} from './hide-change.ts';
import {type Look, linkTo} from './look.ts';
import {type Asked, definePage} from './page.ts';
import {notThere} from './refused.ts';

const numberPattern = /^[1-9]\d{0,17}$/;

export const oneChange = definePage<ChangeInFull>({
  path: '/changes/:changeId',
  section: '/changes',
  moving: ['changes', 'accounts'],
  read: readOne,
  title: ({change}) => `Change ${change.changeId}: ${nameChange(change)}`,
  draw: (story, look) => html`
    <p class="lead">${drawState(nameOutcome(story.change).replace(' ', '_'), nameOutcome(story.change))}${tellEnd(story)}</p>
    ${drawAbout(story, look)}
    ${drawNext(story, look)}
    ${drawSides(story)}
    ${drawRequests(story, look)}`,
  hide: hideChangeInFull,
  elsewhere: ({params: {changeId = ''}}) => ({
    command: `fieldmirror changes show ${changeId}`,
    sql: `SELECT * FROM sync.changes WHERE change_id = ${changeId};\nSELECT * FROM sync.attempts WHERE change_id = ${changeId} ORDER BY attempt_id;\nSELECT * FROM sync.conflicts WHERE change_id = ${changeId} ORDER BY conflict_id;`,
  }),
});

async function readOne({db, seen, params: {changeId = ''}}: Asked): Promise<ChangeInFull> {
  if (!numberPattern.test(changeId)) throw notThere(`change ${JSON.stringify(changeId)}`);
  const story = await readChangeInFull(db, changeId, seen);
  if (story !== null) return story;
  const nearest = await listNearestChanges(
    db,
    changeId,
    seen.map(({accountId}) => accountId),
  );
  throw notThere(
    `change ${changeId}`,
    nearest.map((id) => ({href: `/changes/${id}`, label: `Change ${id}`})),
  );
}

function tellEnd({change}: ChangeInFull): string {
  const reason = tellReason(change);
  return reason === '' ? '' : `: ${reason}`;
}

function drawAbout(story: ChangeInFull, look: Look): SafeHtml {
  const {change, account, record, blocker} = story;
  const {requestedBy, application, requestedAt, settledAt, sentAt, externalKey, table, rowId} =
    change;
  return drawFacts([
    ['made by', application === null ? requestedBy : `${requestedBy}, from ${application}`],
    ['requested', drawTime(requestedAt, look)],
    ['sent last', drawTime(sentAt, look)],
    ['settled', drawTime(settledAt, look)],
    ['account', look.seen.length > 1 ? account : null],
    [
      'record',
      record === null
        ? null
        : html`<a href="${linkTo(look, `/records/${record.stream}/${record.number}`)}">${record.stream} ${record.number}</a>`,
    ],
    ['row', `row ${rowId} of warehouse.${table}`],
    ['external key', externalKey],
    ['batch', change.batch === null ? null : drawFiltered('batch', change.batch, look)],
    [
      'transaction',
      change.transactionId === null
        ? null
        : drawFiltered('transaction', change.transactionId, look),
    ],
    [
      'takes back',
      change.undoes === null
        ? null
        : html`${change.undoes.map((id, at) => html`${at === 0 ? '' : ', '}${drawLink(id, look)}`)}`,
    ],
    [
      'waits for',
      blocker === null
        ? null
        : html`${drawLink(blocker.changeId, look)}: ${nameChange(blocker)}, ${nameState(blocker.state)}`,
    ],
    ['holds up', drawWaiting(story, look)],
    ['looked whether it arrived', change.looks === 0 ? null : change.looks],
  ]);
}

/** A fact that other changes may share, with the way to them. */
function drawFiltered(filter: 'batch' | 'transaction', value: string, look: Look): SafeHtml {
  return html`<a href="${linkTo(look, '/changes', {[filter]: value})}">${value}</a>`;
}

function drawWaiting({waiting: {count, first}}: ChangeInFull, look: Look): SafeHtml | null {
  if (count === 0) return null;
  const more = count > first.length ? ` and ${formatNumber(count - first.length)} more` : '';
  return html`${first.map((id, at) => html`${at === 0 ? '' : ', '}${drawLink(id, look)}`)}${more}`;
}

function drawLink(changeId: string, look: Look): SafeHtml {
  return html`<a href="${linkTo(look, `/changes/${changeId}`)}">change ${changeId}</a>`;
}
