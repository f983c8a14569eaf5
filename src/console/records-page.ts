// The search for records, and the lookup of the record and the moment that an address names. The
// account may be left out if only one has the record. The forms that lead to another moment. The
// action that requests a record again.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import {RecordError, UsageError} from '../core/errors.ts';
import {isId} from '../core/text.ts';
import {describeAbsence, type FoundRecord, findRecord} from '../explain/explain-record.ts';
import {momentOf, type RecordStory} from '../explain/record-story.ts';
import {
  findNeighbours,
  hideSearch,
  mostHits,
  type RecordHit,
  type SearchStory,
  searchRecords,
} from '../explain/search-records.ts';
import {readTime, timePattern} from '../http/change-request.ts';
import {allStreams, findStream} from '../streams/all.ts';
import type {Stream} from '../streams/stream.ts';
import {requestSweep} from '../sweeps/sweeps.ts';
import {
  AccessRefused,
  findSeenAccount,
  makeNotFound,
  type PageLink,
  refuseInactive,
} from './access.ts';
import {
  defineAction,
  definePage,
  type Elsewhere,
  hidden,
  linkTo,
  type Page,
  type PageContext,
  type PageRequest,
} from './page.ts';
import {renderMark, renderTable, renderTime, showMinute} from './render.ts';

export const searchPage: Page = definePage({
  path: '/records',
  section: '/records',
  moving: [],
  read: async ({db, accounts, query}) => await searchRecords(db, accounts, query.q ?? null),
  title: ({sought}) => (sought === null ? 'Records' : `Records: ${sought}`),
  render: (story, context) => html`${renderSearch(story)}${renderSearchResult(story, context)}`,
  hide: (story) => hideSearch(story, hidden),
  elsewhere: ({query}) => ({
    command: `fieldmirror explain customers ${isId(query.q ?? '') ? query.q : '12'}`,
    sql: [
      'SELECT customer_number, name, phone_number FROM warehouse.customers',
      `WHERE name ILIKE '%' || ${quote(query.q ?? '')} || '%' LIMIT ${mostHits};`,
    ].join(' '),
  }),
});

function renderSearch({sought, isByWords}: SearchStory): SafeHtml {
  const helpText = isByWords
    ? 'A number, words of a name or of an e-mail address (of the last word its beginning is ' +
      'enough), the last digits of a phone number, or a key of your own system.'
    : 'A number, or a key of your own system. Names, phone numbers and e-mail addresses are ' +
      'hidden from your key, so nothing is found by them.';
  return html`<form class="filters" action="/records"><label>Find a record
<input type="search" name="q" value="${sought ?? ''}"></label> <button>Find</button></form>
<p class="quiet">${helpText} Customers, jobs, employees and tasks are searched.</p>
<p><a href="/match">Match with an outside system</a></p>`;
}

function renderSearchResult(
  {sought, hits, hasMore, nearest, latest}: SearchStory,
  context: PageContext,
): SafeHtml {
  if (sought === null)
    return html`<h2>Changed recently</h2>${renderRecords(
      'Records that changed recently',
      latest,
      context,
    )}`;
  if (hits.length > 0)
    return html`<p class="lead">${
      hasMore ? `The first ${hits.length} of more` : `${hits.length} found`
    }.${
      hasMore ? ' Another word makes them fewer.' : ''
    }</p>${renderRecords('Records that were found', hits, context)}`;
  return html`<p class="lead">Nothing was found for “${sought}”: no record has this number or key${
    nearest.length > 0 ? '. Nearest to it:' : ', or these words.'
  }</p>${nearest.length === 0 ? '' : renderRecords('Records nearest to it', nearest, context)}`;
}

function renderRecords(
  caption: string,
  records: readonly RecordHit[],
  context: PageContext,
): SafeHtml {
  const hasAccounts = context.seen.length > 1;
  const hasKeys = records.some(({externalKey}) => externalKey !== null);
  const states = records.map(renderRecordState);
  const hasStates = states.some((state) => state !== '');
  return renderTable({
    caption,
    columns: [
      {head: 'name', isTitle: true},
      {head: 'record', isTitle: true},
      ...(hasKeys ? ['key'] : []),
      ...(hasStates ? ['state'] : []),
      ...(hasAccounts ? ['account'] : []),
      'changed',
    ],
    rows: records.map((record, index) => [
      ...[record.name ?? '', nameRecord(record)].map(
        (label) => html`<a href="${linkToRecord(context, record)}">${label}</a>`,
      ),
      ...(hasKeys ? [record.externalKey] : []),
      ...(hasStates ? [states[index] ?? ''] : []),
      ...(hasAccounts ? [record.account] : []),
      renderTime(record.changedAt, context),
    ]),
    none: 'No record is here yet: the first sweep brings them.',
    isStacked: true,
  });
}

/** `customer 4`; the number of its row, if it has no number yet. */
function nameRecord({stream, number, rowId}: RecordHit): string {
  return `${findStream(stream).item} ${number ?? `(row ${rowId})`}`;
}

function renderRecordState({isDeleted, isPending, number}: RecordHit): SafeHtml | string {
  if (isDeleted) return renderMark('quiet', 'deleted');
  if (isPending) return renderMark('busy', number === null ? 'to be created' : 'being changed');
  return number === null ? renderMark('warning', 'only here') : '';
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The place of a record: its number, or that of its row if it has none yet. */
interface RecordPlace {
  readonly stream: string;
  readonly number: string | null;
  readonly rowId: string;
  readonly account: string;
}

/** The path of a record's page, without its account. */
export function pathOfRecord({stream, number, rowId}: Omit<RecordPlace, 'account'>): string {
  return `/records/${stream}/${number ?? `row-${rowId}`}`;
}

/** The address of a record's page; it names the account if there are several. */
export function linkToRecord(
  context: Pick<PageContext, 'query' | 'seen'>,
  record: RecordPlace,
  filters: Readonly<Record<string, string | null>> = {},
): string {
  const account = context.seen.length > 1 ? record.account : null;
  return linkTo(context, pathOfRecord(record), {
    ...(account === null ? {} : {account}),
    ...filters,
  });
}

type RecordAddress = Pick<PageRequest, 'params' | 'query'>;

/**
 * The record that an address names.
 * @throws {AccessRefused} no such stream, no such record, or several accounts have one
 */
export async function findRequestedRecord(request: PageRequest): Promise<FoundRecord> {
  const {db, accounts, params} = request;
  const {stream, ...place} = readRecordAddress(params);
  const lookups = await Promise.all(
    accounts.map((account) => findRecord(db, stream, {account, ...place})),
  );
  const [record, ...otherRecords] = lookups.filter((lookup) => lookup !== null);
  if (record === undefined) throw await explainAbsence(request, stream);
  if (otherRecords.length === 0) return record;
  throw new AccessRefused(300, {
    title: 'Several accounts have one',
    text: `${stream.name} ${params.number} is in each of these accounts.`,
    ways: [record, ...otherRecords].map(({account}) => ({
      href: `/records/${stream.name}/${params.number}?account=${encodeURIComponent(account.name)}`,
      label: account.name,
    })),
  });
}

/** @throws {AccessRefused} */
function readRecordAddress({
  stream: name,
  number = '',
}: RecordAddress['params']): {readonly stream: Stream} & (
  | {readonly number: string}
  | {readonly rowId: string}
) {
  const stream = allStreams.find((candidate) => candidate.name === name);
  if (stream === undefined)
    throw makeNotFound(
      `stream ${JSON.stringify(name ?? '')}`,
      allStreams.map((candidate) => ({
        href: `/records/${candidate.name}/${encodeURIComponent(number)}`,
        label: `${candidate.name} ${number}`,
      })),
    );
  const [, row, digits] = /^(row-)?([1-9]\d{0,17})$/.exec(number) ?? [];
  if (digits === undefined)
    throw makeNotFound(`number ${JSON.stringify(number)}: expected digits, or row- and digits`);
  return {stream, ...(row === undefined ? {number: digits} : {rowId: digits})};
}

async function explainAbsence(
  {db, accounts, params}: PageRequest,
  stream: Stream,
): Promise<AccessRefused> {
  const {number = ''} = params;
  if (number.startsWith('row-')) return makeNotFound(`row ${number.slice(4)} of ${stream.name}`);
  const absences = await Promise.all(
    accounts.map((account) => describeAbsence(db, {stream, account, number})),
  );
  const accountIds = accounts.map(({accountId}) => accountId);
  const neighbours = await findNeighbours(db, {accountIds, stream: stream.name, number});
  const links = neighbours.map((hit): PageLink => {
    const account = accounts.find(({accountId}) => accountId === hit.accountId)?.name ?? '';
    const accountQuery = accounts.length > 1 ? `?account=${encodeURIComponent(account)}` : '';
    const label = `${stream.item} ${hit.number}${accounts.length > 1 ? ` of ${account}` : ''}`;
    return {href: `/records/${stream.name}/${hit.number}${accountQuery}`, label};
  });
  const text = `There is ${absences.join('. There is ')}.${
    links.length === 0 ? '' : ' Nearest to it:'
  }`;
  return new AccessRefused(404, {title: 'Not found', text, ways: links});
}

/**
 * The moment that an address names: that of a version, or one by the clock of the record's account.
 * @returns ISO 8601 in UTC; null: now
 * @throws {AccessRefused} the text is not a moment
 */
export function readMoment(
  {at, version}: RecordAddress['query'],
  {versions, account}: FoundRecord,
): string | null {
  if (version !== undefined && /^\d{1,9}$/.test(version))
    return momentOf(versions, Number(version));
  if (at === undefined) return null;
  try {
    if (!timePattern.test(at))
      throw new RecordError(`expected a day and a time, got ${JSON.stringify(at)}`);
    const instant = readTime(at, account.timeZone);
    return instant.endsWith('Z') ? instant : new Date(instant).toISOString();
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    throw new AccessRefused(
      422,
      {title: 'This is no moment', text: `${error.message}.`},
      {cause: error},
    );
  }
}

/**
 * The forms that lead to any past moment: along the versions, or by the clock. Both work without a
 * script.
 */
export function renderMomentForms(story: RecordStory, context: PageContext): SafeHtml {
  const path = pathOfRecord(story);
  const account =
    context.seen.length > 1
      ? html`<input type="hidden" name="account" value="${story.account}">`
      : '';
  const zone = context.accounts.find(({name}) => name === story.account)?.timeZone ?? 'UTC';
  const momentText = story.at === null ? '' : showMinute(story.at, zone).replace(' ', 'T');
  return html`<h2>At an earlier time</h2>
${renderSlider(story, context, {path, account})}
<form class="filters" action="${path}">${account}
<label>Day and time in ${zone}
<input type="datetime-local" name="at" value="${momentText}" required></label>
<button class="plain">Show</button></form>`;
}

function renderSlider(
  {moments, version, at}: RecordStory,
  context: PageContext,
  {path, account}: {readonly path: string; readonly account: SafeHtml | string},
): SafeHtml | string {
  if (moments.length < 2) return '';
  const shownVersion = version === 0 ? 1 : version;
  const since = showMinute(moments[shownVersion - 1] ?? '', context.timeZone);
  const currentNote = at === null ? ', which holds now' : '';
  const label = `version ${shownVersion} of ${moments.length}, since ${since}${currentNote}`;
  return html`<form class="filters" action="${path}" hx-get="${path}" hx-trigger="change"
  hx-target="#page" hx-select="#page" hx-swap="outerMorph">${account}
<label>Along its versions: ${label}
<input type="range" name="version" min="1" max="${moments.length}" value="${shownVersion}"
  aria-valuetext="${label}"></label>
<button>Show this version</button></form>`;
}

/** A notice that a past moment is shown, with a link back to now. */
export function renderPastNotice(story: RecordStory, context: PageContext): SafeHtml | string {
  const {at, isThere, account} = story;
  if (at === null) return '';
  const moment = `${showMinute(at, context.timeZone)} (${at})`;
  const sentence = isThere
    ? 'This is the record as it stood then; what differs from now is marked.'
    : `There was no row of it in account ${account} then.`;
  const nowUrl = linkToRecord(context, story);
  return html`<p class="past"><strong>As of ${moment}.</strong> ${sentence}
<a href="${nowUrl}">Back to now</a></p>`;
}

/** The same as a command and as SQL. */
export function describeRecordElsewhere({
  params,
  query,
  seen,
}: Omit<PageRequest, 'db' | 'services'>): Elsewhere {
  const {stream, ...place} = readRecordAddress(params);
  const historySql = `SELECT valid_from, valid_to, written_by, * FROM history.${stream.table.name}`;
  if ('rowId' in place)
    return {
      command: `fieldmirror changes list --table ${stream.table.name}`,
      sql: `${historySql} WHERE row_id = ${place.rowId} ORDER BY valid_from;`,
    };
  const field = query.field === undefined ? '' : ` ${query.field.replaceAll(/[^\w-]/g, '')}`;
  const account =
    seen.length > 1 && query.account !== undefined ? ` --account ${query.account}` : '';
  return {
    command: `fieldmirror explain ${stream.name} ${place.number}${field}${account}`,
    sql: `${historySql} WHERE ${stream.key} = ${place.number} ORDER BY valid_from;`,
  };
}

/** Requests a sweep of one record, as `fieldmirror sync STREAM --record N` does. */
export const fetchRecord = defineAction({
  path: '/records/:stream/:number/fetch',
  name: 'records.fetch',
  role: 'operator',
  form: z.object({account: z.string()}),
  act: async (db, {seen, params, fields}) => {
    const {stream, ...place} = readRecordAddress(params);
    const account = findSeenAccount(seen, fields.account);
    const {accountId} = account;
    if (!('number' in place))
      throw new UsageError(`row ${place.rowId} of ${stream.name} has no number yet to ask for`);
    refuseInactive(account);
    const {number: recordNumber} = place;
    const sweep = await requestSweep(db, {
      accountId,
      stream: stream.name,
      mode: 'record',
      recordNumber,
      requestedBy: 'command',
    });
    return {
      subject: `${stream.name} ${recordNumber}`,
      accountId,
      after: {sweepId: sweep.sweepId},
      message: `Sweep ${sweep.sweepId} fetches it as soon as a worker is free; this page follows.`,
    };
  },
});
