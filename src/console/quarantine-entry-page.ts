import {html} from '@remix-run/html-template';
import {drawMark} from './draw-mark.ts';
import {drawRetry, nameRecord} from './draw-quarantined.ts';
import {drawFacts} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {type Entry, findEntry} from './find-quarantined.ts';
import {hideEntry} from './hide-quarantined.ts';
import {linkTo, nameOfAccount} from './look.ts';
import {definePage} from './page.ts';

/** A page stays under 150 kB; as JSON has it all. */
const shownCharacters = 20_000;

export const quarantinePage = definePage<Entry>({
  path: '/quarantine/:entry',
  section: '/sweeps',
  moving: ['sweeps'],
  read: ({db, seen, params}) => findEntry(db, seen, params.entry),
  title: ({quarantineId}) => `Entry ${quarantineId} in quarantine`,
  draw: (entry, look) => html`
    <p class="lead">${entry.resolvedAt === null ? drawMark('bad', 'could not be read') : drawMark('good', 'has left quarantine')} ${entry.reason}</p>
    ${drawFacts([
      ['record', nameRecord(entry, look)],
      ['account', look.seen.length > 1 ? nameOfAccount(look, entry.accountId) : null],
      ['first met', drawTime(entry.firstSeenAt, look)],
      ['last met', drawTime(entry.lastSeenAt, look)],
      [
        'last met by',
        entry.sweepId === null
          ? null
          : html`<a href="${linkTo(look, `/sweeps/${entry.sweepId}`)}">sweep ${entry.sweepId}</a>`,
      ],
      ['on page', entry.page],
      ['left quarantine', drawTime(entry.resolvedAt, look)],
    ])}
    <div class="actions">${drawRetry(entry, look)}</div>
    <h2>What the service sent</h2>
    <p>Without secrets${entry.xml.length > shownCharacters ? ', and cut off here: as JSON has all of it' : ''}.</p>
    <pre tabindex="0">${entry.xml.slice(0, shownCharacters)}</pre>
    <p><a href="${linkTo(look, '/quarantine')}">All records in quarantine</a></p>`,
  hide: hideEntry,
  elsewhere: ({params}) => ({
    command: `fieldmirror quarantine show ${params.entry}`,
    sql: `SELECT * FROM sync.quarantine WHERE quarantine_id = ${params.entry};`,
  }),
});
