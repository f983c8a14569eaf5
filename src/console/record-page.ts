import {html, type SafeHtml} from '@remix-run/html-template';
import {listReceipts, type Receipt} from '../accounts/forget-customer.ts';
import type {FieldStory} from '../explain/explain-record.ts';
import {readFieldStory} from '../explain/explain-record.ts';
import {hideField, hideRecord, type RecordStory, readRecordStory} from '../explain/record-story.ts';
import {findStream} from '../streams/all.ts';
import {drawForm} from './draw-form.ts';
import {drawMark, drawState} from './draw-mark.ts';
import {drawEvents} from './draw-record-events.ts';
import {drawField} from './draw-record-field.ts';
import {drawMoment, drawPast} from './draw-record-moment.ts';
import {drawParts} from './draw-record-parts.ts';
import {drawReceipts} from './draw-record-receipt.ts';
import {drawValue} from './draw-record-value.ts';
import {drawValues} from './draw-record-values.ts';
import {drawFacts} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {findAsked, readMoment, sayElsewhere} from './find-record.ts';
import {type Look, linkTo, may} from './look.ts';
import {type Asked, definePage, hidden, type Page} from './page.ts';
import {linkToRecord, pathOfRecord} from './record-link.ts';
import {Refused} from './refused.ts';

interface Story {
  readonly record: RecordStory;
  /** The field that is asked for; null: the whole record. */
  readonly field: FieldStory | null;
  /** Those of a customer that was forgotten, the newest first. */
  readonly receipts: readonly Receipt[];
}

export const recordPage: Page = definePage<Story>({
  path: '/records/:stream/:number',
  section: '/records',
  moving: ['changes', 'sweeps'],
  read: readStory,
  title: ({record: {stream, number, rowId}}) => {
    const {item} = findStream(stream);
    const kind = `${item.slice(0, 1).toUpperCase()}${item.slice(1)}`;
    return number === null ? `${kind} without a number, row ${rowId}` : `${kind} ${number}`;
  },
  draw: ({record: story, field, receipts}, look) =>
    html`${drawHead(story, receipts, look)}${field === null ? drawRecord(story, look) : drawField(field, story, look)}`,
  hide: ({record: story, field, receipts}) => ({
    receipts,
    record: hideRecord(story, hidden),
    field: field === null ? null : hideField(field, findStream(story.stream).table.name, hidden),
  }),
  elsewhere: sayElsewhere,
});

async function readStory(asked: Asked): Promise<Story> {
  const {db, query} = asked;
  const found = await findAsked(asked);
  const at = readMoment(query, found);
  const skipped = /^\d{1,6}$/.test(query.older ?? '') ? Number(query.older) : 0;
  const story = await readRecordStory(db, found, {at, skipped});
  const {number, account} = found;
  const isNumbered = story.stream === 'customers' && number !== null;
  const receipts = isNumbered ? await listReceipts(db, {accountId: account.accountId, number}) : [];
  if (query.field === undefined) return {record: story, field: null, receipts};
  const field = await readFieldStory(db, found, query.field).catch((error: unknown) => {
    const ways = [{href: pathOfRecord(story), label: 'The whole record'}];
    throw new Refused(
      404,
      {title: 'No such field', text: (error as Error).message, ways},
      {cause: error},
    );
  });
  return {record: story, field, receipts};
}

function drawHead(story: RecordStory, receipts: readonly Receipt[], look: Look): SafeHtml {
  const {name, number, rowId, externalKey, pointedAt, account} = story;
  return html`${name === null ? '' : html`<p class="lead">${name}</p>`}
${drawStanding(story, look)}
${drawPast(story, look)}
${drawFacts([
  ['number', number ?? 'none yet'],
  ['row', rowId],
  ['key in your own system', externalKey],
  ['account', look.seen.length > 1 ? account : null],
  ...pointedAt.map(
    (other) =>
      [
        findStream(other.stream).item,
        html`<a href="${linkToRecord(look, {...other, rowId: '', account})}">${other.number} ${other.name}</a>`,
      ] as const,
  ),
])}
${number === null ? '' : html`<div class="actions">${drawForm(look, {to: `${pathOfRecord(story)}/fetch`, role: 'operator', label: 'Fetch again', fixed: {account}})}${receipts.length === 0 ? drawWayToForget(story, look) : ''}</div>`}
${drawReceipts(receipts, look)}`;
}

function drawWayToForget(story: RecordStory, look: Look): SafeHtml | string {
  if (story.stream !== 'customers' || !may(look, 'admin')) return '';
  const account = look.seen.length > 1 ? {account: story.account} : {};
  return html` <a href="${linkTo(look, `${pathOfRecord(story)}/forget`, account)}">Forget this customer</a>`;
}

function drawStanding(
  {deletedSince, evidence, removedAt}: RecordStory,
  look: Look,
): SafeHtml | string {
  if (removedAt !== null)
    return html`<p>${drawMark('bad', 'removed')} Its row left the warehouse ${drawTime(removedAt, look)}.</p>`;
  if (deletedSince === null) return '';
  const words =
    evidence === null
      ? 'No answer of the service is kept for it.'
      : html`Asked for it at ${evidence.askedAt}, the service said ${String(evidence.status)}: “${evidence.words}”`;
  return html`<p>${drawMark('bad', 'deleted')} Gone at the service, marked ${drawTime(deletedSince, look)}. ${words}</p>`;
}

function drawRecord(story: RecordStory, look: Look): SafeHtml {
  return html`${drawWanted(story, look)}${drawMoment(story, look)}
${story.isThere ? html`${drawValues(story, look)}${drawParts(story, look)}` : ''}
${drawEvents(story, look)}`;
}

function drawWanted({wanted}: RecordStory, look: Look): SafeHtml | string {
  if (wanted.length === 0) return '';
  return html`<h2>On its way to the service</h2><ul class="list">${wanted.map(
    ({changeId, operation, state, requestedAt, fields}) =>
      html`<li><a href="/changes/${changeId}">change ${changeId}</a> ${operation} ${drawState(state)} ${drawTime(requestedAt, look)}${
        operation === 'update'
          ? html`<ul>${Object.entries(fields).map(
              ([field, value]) =>
                html`<li><code>${field}</code> ${field === 'password' ? '(set)' : drawValue(value, look)}</li>`,
            )}</ul>`
          : ''
      }</li>`,
  )}</ul>`;
}
