import {html, type SafeHtml} from '@remix-run/html-template';
import {formatNumber} from '../core/format.ts';
import {allStreams} from '../streams/all.ts';
import {listQuarantine, type QuarantineEntry} from '../sweeps/quarantine.ts';
import {drawChoice, drawFilters} from './draw-filters.ts';
import {drawRetry, nameRecord} from './draw-quarantined.ts';
import {drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {hideEntry} from './hide-quarantined.ts';
import {type Look, linkTo} from './look.ts';
import {definePage} from './page.ts';

interface Story {
  readonly entries: readonly QuarantineEntry[];
  readonly hasMore: boolean;
}

const shownEntries = 100;
const streams = allStreams.map(({name}) => name);

export const quarantineList = definePage<Story>({
  path: '/quarantine',
  section: '/sweeps',
  moving: ['sweeps'],
  read: async ({db, accounts, query}) => {
    const entries = await listQuarantine(db, {
      accountIds: accounts.map(({accountId}) => accountId),
      stream: streams.find((known) => known === query.stream) ?? null,
      limit: shownEntries + 1,
    });
    return {entries: entries.slice(0, shownEntries), hasMore: entries.length > shownEntries};
  },
  title: () => 'Records in quarantine',
  draw: (story, look) => html`
    <p class="lead">${summarise(story)}</p>
    ${drawFilters(look, [drawChoice('stream', 'Stream', streams, look.query.stream)])}
    ${drawEntries(story.entries, look)}
    ${story.hasMore ? html`<p class="quiet">There are more: choose a stream.</p>` : ''}
    <p>The rows of these records stay as they were last read. A record leaves quarantine as soon as it is read well, or is gone at the service.
      <a href="${linkTo(look, '/sweeps')}">Sweeps</a></p>`,
  hide: (story) => ({...story, entries: story.entries.map(hideEntry)}),
  elsewhere: ({query}) => ({
    command: `fieldmirror quarantine list${streams.some((known) => known === query.stream) ? ` ${query.stream}` : ''}`,
    sql: 'SELECT quarantine_id, stream, number, reason, first_seen_at, last_seen_at FROM sync.quarantine\n WHERE resolved_at IS NULL ORDER BY last_seen_at DESC;',
  }),
});

function summarise({entries, hasMore}: Story): string {
  if (entries.length === 0) return 'Nothing is in quarantine: every record could be read.';
  if (entries.length === 1) return 'One record could not be read.';
  return `${hasMore ? 'More than ' : ''}${formatNumber(entries.length)} records could not be read.`;
}

function drawEntries(entries: readonly QuarantineEntry[], look: Look): SafeHtml | string {
  if (entries.length === 0) return '';
  const hasSeveral = look.seen.length > 1;
  return drawTable({
    caption: 'Records in quarantine, the latest met first',
    columns: [
      'entry',
      ...(hasSeveral ? ['account'] : []),
      'record',
      'what is wrong with it',
      'first met',
      'last met',
      'steps',
    ],
    rows: entries.map((entry) => [
      html`<a href="${linkTo(look, `/quarantine/${entry.quarantineId}`)}">${entry.quarantineId}</a>`,
      ...(hasSeveral ? [entry.account] : []),
      nameRecord(entry, look),
      html`<span class="what">${entry.reason}</span>`,
      drawTime(entry.firstSeenAt, look),
      drawTime(entry.lastSeenAt, look),
      drawRetry(entry, look),
    ]),
    none: '',
  });
}
