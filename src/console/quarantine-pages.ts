// Records in quarantine: the list, one entry, and its retry.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import type {Account} from '../accounts/accounts.ts';
import {UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {isId} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';
import {allStreams} from '../streams/all.ts';
import {listQuarantine, type QuarantineEntry, readQuarantine} from '../sweeps/quarantine.ts';
import {requestSweep} from '../sweeps/sweeps.ts';
import {findSeenAccount, makeNotFound, refuseInactive} from './access.ts';
import {
  defineAction,
  definePage,
  hidden,
  linkTo,
  nameOfAccount,
  type PageContext,
  pageOf,
} from './page.ts';
import {
  renderChoice,
  renderFacts,
  renderFilters,
  renderForm,
  renderMark,
  renderProse,
  renderTable,
  renderTime,
} from './render.ts';

interface Story {
  readonly entries: readonly QuarantineEntry[];
  readonly hasMore: boolean;
  /** How many entries the pages before this one have. */
  readonly skipped: number;
}

const perPage = 50;
const streams = allStreams.map(({name}) => name);

export const quarantineListPage = definePage<Story>({
  path: '/quarantine',
  section: '/sweeps',
  moving: ['sweeps'],
  read: async ({db, accounts, query}) => {
    const skipped = perPage * (pageOf(query) - 1);
    const entries = await listQuarantine(db, {
      accountIds: accounts.map(({accountId}) => accountId),
      stream: streams.find((candidate) => candidate === query.stream) ?? null,
      skipped,
      limit: perPage + 1,
    });
    return {entries: entries.slice(0, perPage), hasMore: entries.length > perPage, skipped};
  },
  title: () => 'Records in quarantine',
  render: (story, context) => html`
    <p class="lead">${describeEntries(story)}</p>
    ${renderFilters(context, [renderChoice('stream', 'Stream', streams, context.query.stream)])}
    ${renderEntries(story.entries, context)}
    ${renderPaging(story, context)}
    <p>The rows of these records stay as they were last read.
      A record leaves quarantine as soon as it is read well, or is deleted at the service.
      <a href="${linkTo(context, '/sweeps')}">Sweeps</a></p>`,
  hide: (story) => ({...story, entries: story.entries.map(hideEntry)}),
  elsewhere: ({query}) => ({
    command: `fieldmirror quarantine list${
      streams.some((candidate) => candidate === query.stream) ? ` ${query.stream}` : ''
    }`,
    sql: [
      'SELECT quarantine_id, stream, number, reason, first_seen_at, last_seen_at',
      '  FROM sync.quarantine',
      ' WHERE resolved_at IS NULL ORDER BY last_seen_at DESC;',
    ].join('\n'),
  }),
});

function renderPaging({hasMore, skipped}: Story, context: PageContext): SafeHtml | string {
  if (!hasMore && skipped === 0) return '';
  const {stream} = context.query;
  const nextUrl = linkTo(context, '/quarantine', {stream, page: String(pageOf(context.query) + 1)});
  return html`<p class="actions">
    ${
      skipped === 0
        ? ''
        : html`<a href="${linkTo(context, '/quarantine', {stream})}">First page</a>`
    }
    ${hasMore ? html`<a href="${nextUrl}" rel="next">Next page</a>` : ''}</p>`;
}

function describeEntries({entries, hasMore, skipped}: Story): string {
  const count = skipped + entries.length;
  if (count === 0) return 'Nothing is in quarantine: every record could be read.';
  if (count === 1) return 'One record could not be read.';
  return `${hasMore ? 'More than ' : ''}${formatNumber(count)} records could not be read.`;
}

function renderEntries(
  entries: readonly QuarantineEntry[],
  context: PageContext,
): SafeHtml | string {
  if (entries.length === 0) return '';
  const hasSeveral = context.seen.length > 1;
  return renderTable({
    caption: 'Records in quarantine, the latest seen first',
    columns: [
      'entry',
      ...(hasSeveral ? ['account'] : []),
      'record',
      'what is wrong with it',
      'first seen',
      'last seen',
      'steps',
    ],
    rows: entries.map((entry) => [
      html`<a href="${linkTo(context, `/quarantine/${entry.quarantineId}`)}">${
        entry.quarantineId
      }</a>`,
      ...(hasSeveral ? [entry.account] : []),
      nameRecord(entry, context),
      html`<span class="what">${renderProse(entry.reason, context)}</span>`,
      renderTime(entry.firstSeenAt, context),
      renderTime(entry.lastSeenAt, context),
      renderRetry(entry, context),
    ]),
    none: '',
    isStacked: true,
  });
}

/** A page stays under 60 kB; the JSON has all of it. */
const characterLimit = 20_000;

export const quarantinePage = definePage<Entry>({
  path: '/quarantine/:entry',
  section: '/sweeps',
  moving: ['sweeps'],
  read: ({db, seen, params}) => findEntry(db, seen, params.entry),
  title: ({quarantineId}) => `Entry ${quarantineId} in quarantine`,
  render: (entry, context) => html`
    <p class="lead">${
      entry.resolvedAt === null
        ? renderMark('bad', 'could not be read')
        : renderMark('good', 'has left quarantine')
    } ${renderProse(entry.reason, context)}</p>
    ${renderFacts([
      ['record', nameRecord(entry, context)],
      ['account', context.seen.length > 1 ? nameOfAccount(context, entry.accountId) : null],
      ['first seen', renderTime(entry.firstSeenAt, context)],
      ['last seen', renderTime(entry.lastSeenAt, context)],
      [
        'last seen by',
        entry.sweepId === null
          ? null
          : html`<a href="${linkTo(
              context,
              `/sweeps/${entry.sweepId}`,
            )}">sweep ${entry.sweepId}</a>`,
      ],
      ['on page', entry.page],
      ['left quarantine', renderTime(entry.resolvedAt, context)],
    ])}
    <div class="actions">${renderRetry(entry, context)}</div>
    <h2>What the service sent</h2>
    <p>Without secrets${
      entry.xml.length > characterLimit ? ', and cut off here: as JSON has all of it' : ''
    }.</p>
    <pre tabindex="0">${entry.xml.slice(0, characterLimit)}</pre>
    <p><a href="${linkTo(context, '/quarantine')}">All records in quarantine</a></p>`,
  hide: hideEntry,
  elsewhere: ({params}) => ({
    command: `fieldmirror quarantine show ${params.entry}`,
    sql: `SELECT * FROM sync.quarantine WHERE quarantine_id = ${params.entry};`,
  }),
});

/** The number of a record, as a link to its row; without a number, the page on which it was. */
function nameRecord(
  {stream, number, page, account}: QuarantineEntry,
  context: PageContext,
): SafeHtml | string {
  if (number === null) return `${stream}, no number${page === null ? '' : `, page ${page}`}`;
  const accountName = context.seen.length > 1 ? account : undefined;
  const recordUrl = linkTo(context, `/records/${stream}/${number}`, {account: accountName});
  return html`<a href="${recordUrl}">${stream} ${number}</a>`;
}

/**
 * The button that requests the record by its number; without a number, the whole list must be read
 * again.
 */
function renderRetry(
  {quarantineId, number, stream, account, resolvedAt}: QuarantineEntry,
  context: PageContext,
): SafeHtml | string {
  if (resolvedAt !== null) return '';
  return number === null
    ? renderForm(context, {
        to: `/accounts/${encodeURIComponent(account)}/sweep`,
        role: 'operator',
        label: 'Read the whole list again',
        fixed: {stream},
      })
    : renderForm(context, {
        to: `/quarantine/${quarantineId}/retry`,
        role: 'operator',
        label: 'Try again',
      });
}

/** An entry with the XML that the service sent, without secrets. */
type Entry = QuarantineEntry & {readonly xml: string};

/**
 * The entry of that number, of an account that the viewer may see.
 * @throws {AccessRefused} there is none
 */
async function findEntry(db: Queryable, seen: readonly Account[], id = ''): Promise<Entry> {
  const entry = isId(id) ? await readQuarantine(db, id) : null;
  if (entry !== null && seen.some(({accountId}) => accountId === entry.accountId)) return entry;
  throw makeNotFound(`entry ${JSON.stringify(id)} in quarantine`, [
    {href: '/quarantine', label: 'Records in quarantine'},
  ]);
}

/**
 * An entry for a viewer who may not see personal data. The received value may be personal; the
 * expected one is not.
 */
function hideEntry<SomeEntry extends QuarantineEntry>(entry: SomeEntry): SomeEntry {
  const reason = entry.expected === null ? hidden : `${entry.expected}, got ${hidden}`;
  return {...entry, reason, ...('xml' in entry ? {xml: hidden} : {})};
}

/**
 * Requests a record once more by its number, as `fieldmirror quarantine retry` does; a worker sends
 * the request.
 */
export const retryQuarantine = defineAction({
  path: '/quarantine/:entry/retry',
  name: 'quarantine.retry',
  role: 'operator',
  form: z.object({}),
  act: async (db, {seen, params}) => {
    const entry = await findEntry(db, seen, params.entry);
    const {quarantineId, accountId, stream, number, resolvedAt} = entry;
    if (resolvedAt !== null)
      throw new UsageError(
        `entry ${quarantineId} has left quarantine: ${stream} ${number} was read, or is deleted`,
      );
    if (number === null)
      throw new UsageError(
        `entry ${quarantineId}: its number could not be read, so that it cannot be requested; ` +
          `sweep ${stream} as a whole`,
      );
    refuseInactive(findSeenAccount(seen, entry.account));
    const {sweepId} = await requestSweep(db, {
      accountId,
      stream,
      mode: 'record',
      recordNumber: number,
      requestedBy: 'command',
    });
    return {
      subject: `quarantine ${quarantineId}`,
      accountId,
      after: {sweepId, stream, number},
      message:
        `Sweep ${sweepId} requests ${stream} ${number} as soon as a worker is free; ` +
        'this page follows.',
    };
  },
});
