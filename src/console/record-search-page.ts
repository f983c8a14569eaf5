import {html, type SafeHtml} from '@remix-run/html-template';
import {
  hideSearch,
  mostHits,
  type SearchStory,
  searchRecords,
  type ToldRecord,
} from '../explain/search-records.ts';
import {drawMark} from './draw-mark.ts';
import {drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import type {Look} from './look.ts';
import {definePage, hidden, type Page} from './page.ts';
import {linkToRecord} from './record-link.ts';

export const searchPage: Page = definePage({
  path: '/records',
  section: '/records',
  moving: [],
  read: async ({db, accounts, query}) => await searchRecords(db, accounts, query.q ?? null),
  title: ({sought}) => (sought === null ? 'Records' : `Records: ${sought}`),
  draw: (story, look) => html`${drawSearch(story)}${drawFound(story, look)}`,
  hide: (story) => hideSearch(story, hidden),
  elsewhere: ({query}) => ({
    command: `fieldmirror explain customers ${/^[1-9]\d{0,17}$/.exec(query.q ?? '')?.[0] ?? '12'}`,
    sql: `SELECT customer_number, name, phone_number FROM warehouse.customers WHERE name ILIKE '%' || ${quote(query.q ?? '')} || '%' LIMIT ${mostHits};`,
  }),
});

function drawSearch({sought, isByWords}: SearchStory): SafeHtml {
  const ways = isByWords
    ? 'A number, words of a name or of an e-mail address (of the last word its beginning is enough), the last digits of a phone number, or a key of your own system.'
    : 'A number, or a key of your own system. Names, phone numbers and e-mail addresses are hidden from your key, so nothing is found by them.';
  return html`<form class="filters" action="/records"><label>Find a record <input type="search" name="q" value="${sought ?? ''}"></label> <button>Find</button></form>
<p class="quiet">${ways} Customers, jobs, employees and tasks are searched.</p>`;
}

function drawFound({sought, hits, hasMore, nearest, latest}: SearchStory, look: Look): SafeHtml {
  if (sought === null)
    return html`<h2>Changed of late</h2>${drawRecords('Records that changed of late', latest, look)}`;
  if (hits.length > 0)
    return html`<p class="lead">${hasMore ? `The first ${hits.length} of more` : `${hits.length} found`}.${
      hasMore ? ' Another word makes them fewer.' : ''
    }</p>${drawRecords('Records that were found', hits, look)}`;
  return html`<p class="lead">Nothing was found for “${sought}”: no record has this number or key${
    nearest.length > 0 ? '. Nearest to it:' : ', or these words.'
  }</p>${nearest.length === 0 ? '' : drawRecords('Records nearest to it', nearest, look)}`;
}

function drawRecords(caption: string, records: readonly ToldRecord[], look: Look): SafeHtml {
  const hasAccounts = look.seen.length > 1;
  return drawTable({
    caption,
    columns: [
      'record',
      'name',
      'key',
      'how it stands',
      ...(hasAccounts ? ['account'] : []),
      'changed',
    ],
    rows: records.map((record) => [
      html`<a href="${linkToRecord(look, record)}">${record.stream} ${record.number ?? `(row ${record.rowId})`}</a>`,
      record.name,
      record.externalKey,
      drawStanding(record),
      ...(hasAccounts ? [record.account] : []),
      drawTime(record.changedAt, look),
    ]),
    none: 'No record is here yet: the first sweep brings them.',
  });
}

function drawStanding({isDeleted, isPending, number}: ToldRecord): SafeHtml | string {
  if (isDeleted) return drawMark('quiet', 'deleted');
  if (isPending) return drawMark('busy', number === null ? 'to be created' : 'being changed');
  return number === null ? drawMark('warning', 'only here') : '';
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
