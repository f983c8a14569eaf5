import {html, type SafeHtml} from '@remix-run/html-template';
import type {Change} from '../changes/change.ts';
import type {PlannedRequest, Unplannable} from '../changes/change-request.ts';
import {maskChange, nameChange, showWanted} from '../changes/change-words.ts';
import {listUndoable, readDecidable} from '../changes/decidable-changes.ts';
import {mostDecided} from '../changes/decide-many.ts';
import type {ChangeGroup} from '../changes/preview-decision.ts';
import {nameUndo} from '../changes/undo-changes.ts';
import {previewUndo, type UndoPreview} from '../changes/undo-many.ts';
import {countChanges} from '../changes/undo-words.ts';
import {formatNumber} from '../core/format.ts';
import {writeNumbers} from '../core/number-set.ts';
import {writeOptions} from './changes-elsewhere.ts';
import {filtersOf, readWanted, writeFilters} from './changes-filter.ts';
import {drawGroups} from './draw-change-groups.ts';
import {drawForm} from './draw-form.ts';
import {drawTable} from './draw-table.ts';
import {hideChange, hideRequest, hideUndoGroup} from './hide-change.ts';
import {type Look, linkTo} from './look.ts';
import {type Asked, definePage} from './page.ts';
import {Refused} from './refused.ts';
import {listTicked, readTicked} from './ticked-changes.ts';

/** A person reads some of what would be written; all of it is behind the command. */
const mostShown = 50;

interface Preview extends Pick<UndoPreview, 'cancelledCount' | 'undoneCount' | 'left'> {
  readonly madeCount: number;
  /** The first changes that would be made, each with its request. */
  readonly made: readonly {
    readonly change: Change;
    readonly request: PlannedRequest | Unplannable;
  }[];
  /** Those that can be taken back, wholly or in part, as `readNumbers` reads them. */
  readonly numbers: string;
}

/**
 * What would be written to take changes back, and what is left and why. It stands still while it is
 * read.
 */
export const undoPreview = definePage<Preview>({
  path: '/changes/undo',
  section: '/changes',
  role: 'operator',
  moving: [],
  read: readPreview,
  title: () => 'Take back: what it would do',
  draw: drawPreview,
  hide: (preview) => ({
    ...preview,
    left: preview.left.map(hideUndoGroup),
    made: preview.made.map(({change, request}) => ({
      change: hideChange(change),
      request: hideRequest(request),
    })),
  }),
  elsewhere: (asked) => {
    const numbers = listTicked(asked.query);
    const isAll = asked.query.all === 'yes';
    const chosen = isAll ? writeOptions(asked) || ' --all' : ` ${numbers.join(' ') || 'NUMBER…'}`;
    return {
      command: `fieldmirror changes undo${chosen} --dry-run`,
      sql: `SELECT * FROM sync.undo_changes('{${numbers.join(',')}}', 'name of the undo');`,
    };
  },
});

async function readPreview(asked: Asked): Promise<Preview> {
  const {db} = asked;
  const batch = nameUndo(asked.query.batch ?? null, new Date());
  const undo = await previewUndo(db, await find(asked), batch, {mostRequests: mostShown});
  const {cancelledCount, undoneCount, left, made, requests, changes} = undo;
  return {
    ...{cancelledCount, undoneCount, left},
    madeCount: made.length,
    made: requests.flatMap((request, at) => {
      const change = made[at];
      return change === undefined ? [] : [{change: maskChange(change), request}];
    }),
    numbers: writeNumbers(
      changes.flatMap(({changeId, outcome}) => (outcome === null ? [] : [changeId])),
    ),
  };
}

/** @throws {Refused} none is ticked, or more match than are taken back at once */
async function find(asked: Asked): Promise<string[]> {
  const {db, query, accounts} = asked;
  if (query.all !== 'yes') {
    const accountIds = accounts.map(({accountId}) => accountId);
    const ticked = await readDecidable(db, readTicked(query), accountIds);
    return ticked.map(({changeId}) => changeId);
  }
  const found = await listUndoable(db, readWanted(asked), mostDecided + 1);
  if (found.length <= mostDecided) return found;
  throw new Refused(422, {
    title: 'These are too many to take back at once',
    text: `Expected at most ${formatNumber(mostDecided)} changes, and more match. Narrow the filter, for example by table, batch or time. Nothing was done.`,
    ways: [{href: linkTo({query}, '/changes', filtersOf(query)), label: 'Back to the changes'}],
  });
}

function drawPreview(preview: Preview, look: Look): SafeHtml {
  const {cancelledCount, undoneCount, madeCount, made, left} = preview;
  const count = cancelledCount + undoneCount;
  return html`
    <p class="lead">Write back what the changes were made from. What it makes is held: nothing is sent before a person releases it.</p>
    <p>${tellCounts(preview)} Nothing is done yet.</p>
    ${count === 0 ? '' : drawConfirmation(preview, count, look)}
    <p><a href="${linkTo(look, '/changes', filtersOf(look.query))}">Back to the changes</a></p>
    <h2>What would be written</h2>
    ${madeCount > made.length ? html`<p>These are the first ${formatNumber(made.length)} of ${formatNumber(madeCount)}.</p>` : ''}
    ${drawMade(preview, look)}
    <h2>What is left, and why</h2>
    ${drawLeft(left, look)}`;
}

function tellCounts({cancelledCount, undoneCount, madeCount}: Preview): string {
  const told = [
    cancelledCount === 0 ? '' : `${countChanges(cancelledCount)}, not sent yet, would be given up.`,
    undoneCount === 0
      ? ''
      : `${countChanges(undoneCount)}, done, would be taken back by ${countChanges(madeCount)}.`,
  ];
  return told.filter((text) => text !== '').join(' ') || 'None of them can be taken back.';
}

function drawConfirmation({numbers}: Preview, count: number, look: Look): SafeHtml | string {
  return drawForm(look, {
    to: '/changes/undo',
    role: 'operator',
    label: `Take back ${countChanges(count)}`,
    fixed: {numbers, batch: look.query.batch ?? '', filters: writeFilters(look.query)},
    isGrave: true,
  });
}

function drawMade({made}: Preview, look: Look): SafeHtml {
  return drawTable({
    caption: 'What would be written to take the changes back',
    columns: ['takes back', 'record', 'fields', 'request'],
    rows: made.map(({change, request}) => [
      html`${(change.undoes ?? []).map((id, at) => html`${at === 0 ? '' : ', '}<a href="${linkTo(look, `/changes/${id}`)}">${id}</a>`)}`,
      nameChange(change),
      html`<ul class="list">${Object.keys(change.fields).map((field) => html`<li>${drawField(field, change)}</li>`)}</ul>`,
      drawRequest(request),
    ]),
    none: 'Nothing: no change of its own is needed.',
  });
}

function drawField(field: string, {base, fields}: Change): SafeHtml {
  return html`<code>${field}</code>: <span class="value">${showWanted(field, base[field])}</span> becomes <span class="value">${showWanted(field, fields[field])}</span>`;
}

function drawRequest(request: PlannedRequest | Unplannable): SafeHtml {
  if ('problem' in request)
    return html`<span class="why">Nothing can be sent: ${request.problem}</span>`;
  const {method, path, body} = request;
  return html`<code>${method} ${path}</code>${
    body === null
      ? ''
      : html`<details><summary>The document</summary><pre tabindex="0">${body.trimEnd()}</pre></details>`
  }`;
}

function drawLeft(left: readonly ChangeGroup[], look: Look): SafeHtml {
  return drawGroups(left, {
    look,
    head: 'why',
    caption: 'Changes of which something is left',
    none: 'Nothing is left.',
  });
}
