import {html, type SafeHtml} from '@remix-run/html-template';
import {isPlace} from '../changes/browse-changes.ts';
import {
  type ChangeCounts,
  type ChangeLine,
  type ChangeList,
  readChangeList,
} from '../changes/change-list.ts';
import {formatNumber} from '../core/format.ts';
import {choices} from './change-choices.ts';
import {tellListElsewhere} from './changes-elsewhere.ts';
import {drawFilters, filtersOf, nameFilterState, readWanted} from './changes-filter.ts';
import {drawState} from './draw-mark.ts';
import {type Cell, drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {hideLine} from './hide-change.ts';
import {type Look, linkTo, may, nameOfAccount} from './look.ts';
import {definePage} from './page.ts';

const mostFields = 3;

export const changeList = definePage<ChangeList>({
  path: '/changes',
  section: '/changes',
  moving: ['changes', 'accounts'],
  read: async (asked) => {
    const {db, accounts, query} = asked;
    const after = query.after !== undefined && isPlace(query.after) ? query.after : null;
    return await readChangeList(db, {accounts, wanted: readWanted(asked), after});
  },
  title: () => 'Changes',
  draw: (list, look) => html`
    ${drawCounts(list.counts, look)}
    ${list.underWay.map((text) => html`<p>${text}</p>`)}
    ${drawFilters(look)}
    ${may(look, 'operator') && list.changes.length > 0 ? drawChoosing(list, look) : drawLines(list, look)}
    ${drawPaging(list, look)}`,
  hide: (list) => ({...list, changes: list.changes.map(hideLine)}),
  elsewhere: tellListElsewhere,
});

function drawCounts({needy, open, settled}: ChangeCounts, look: Look): SafeHtml {
  const link = (state: string, count: number) =>
    html`<a href="${linkTo(look, '/changes', {state})}">${nameFilterState(state)} ${formatNumber(count)}</a>`;
  const seen = settled.reduce((total, {count}) => total + count, 0);
  return html`<ul class="counts" aria-label="Changes by state">
    <li>${needy === 0 ? 'No change needs a person' : html`<strong>${link('needy', needy)}</strong>`}</li>
    ${open.map(({state, count}) => (count === 0 ? '' : html`<li>${link(state, count)}</li>`))}
    ${seen === 0 ? '' : html`<li class="quiet">of the latest ${formatNumber(seen)} that are over:</li>`}
    ${settled.map(({state, count}) => html`<li>${link(state, count)}</li>`)}
  </ul>`;
}

/**
 * The lines with boxes to tick: what is ticked, or all that match, is shown once more before
 * anything is done.
 */
function drawChoosing(list: ChangeList, look: Look): SafeHtml {
  const kept = Object.entries({...filtersOf(look.query), account: look.query.account});
  return html`<form action="/changes/preview">
    ${kept.map(([name, value]) => (value === undefined ? '' : html`<input type="hidden" name="${name}" value="${value}">`))}
    <div class="actions">
      <label>Decide <select name="choice">${choices.map(
        ({name, label}) => html`<option value="${name}">${label}</option>`,
      )}</select></label>
      <button>Preview for those ticked</button>
      <button name="all" value="yes">Preview for all that match</button>
    </div>
    <div class="actions">
      Take back: <button formaction="/changes/undo">Preview undo of those ticked</button>
      <button formaction="/changes/undo" name="all" value="yes">Preview undo of all that match</button>
    </div>
    ${drawLines(list, look, {isChoosing: true})}</form>`;
}

function drawLines(
  {changes}: ChangeList,
  look: Look,
  {isChoosing = false}: {readonly isChoosing?: boolean} = {},
): SafeHtml {
  const isOfMany = look.accounts.length > 1;
  return drawTable({
    caption: 'Changes, those that need a person first',
    columns: [
      ...(isChoosing ? ['tick'] : []),
      'change',
      ...(isOfMany ? ['account'] : []),
      ...['what', 'state', 'why', 'by', 'requested', 'next'],
    ],
    rows: changes.map((line) => [
      ...(isChoosing ? [drawBox(line)] : []),
      html`<a href="${linkTo(look, `/changes/${line.changeId}`)}">${line.changeId}</a>`,
      ...(isOfMany ? [nameOfAccount(look, line.accountId)] : []),
      ...drawLine(line, look),
    ]),
    none: 'No change is like that: who writes to the tables of schema warehouse makes one.',
  });
}

function drawLine(
  {
    what,
    fields,
    outcome,
    why,
    requestedBy,
    application,
    batch,
    requestedAt,
    waitsFor,
    next,
  }: ChangeLine,
  look: Look,
): Cell[] {
  const more = fields.length > mostFields ? ` and ${fields.length - mostFields} more` : '';
  const named = `${fields.slice(0, mostFields).join(', ')}${more}`;
  return [
    html`<span class="what">${what}${named === '' ? '' : html` <small>${named}</small>`}</span>`,
    drawState(outcome.replace(' ', '_'), outcome),
    waitsFor === null || !why.startsWith('waits for')
      ? html`<span class="why">${why}</span>`
      : html`waits for <a href="${linkTo(look, `/changes/${waitsFor}`)}">change ${waitsFor}</a>`,
    html`${requestedBy}${application === null ? '' : html` <small>${application}</small>`}${
      batch === null ? '' : html` <small>${batch}</small>`
    }`,
    drawTime(requestedAt, look),
    html`<span class="why">${next ?? ''}</span>`,
  ];
}

function drawBox({changeId, what}: ChangeLine): SafeHtml {
  return html`<input type="checkbox" name="c${changeId}" value="on" aria-label="change ${changeId}, ${what}">`;
}

function drawPaging({next}: ChangeList, look: Look): SafeHtml | string {
  const filters = filtersOf(look.query);
  const isFirst = look.query.after === undefined;
  if (next === null && isFirst) return '';
  return html`<p class="actions">
    ${isFirst ? '' : html`<a href="${linkTo(look, '/changes', filters)}">First page</a>`}
    ${next === null ? '' : html`<a href="${linkTo(look, '/changes', {...filters, after: next})}" rel="next">Next page</a>`}
  </p>`;
}
