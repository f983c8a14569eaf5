import {html, type SafeHtml} from '@remix-run/html-template';
import {listDecidable, readDecidable} from '../changes/decidable-changes.ts';
import {mostDecided} from '../changes/decide-many.ts';
import {type DecisionPreview, previewDecision} from '../changes/preview-decision.ts';
import {formatNumber} from '../core/format.ts';
import {type Choice, choices, findChoice} from './change-choices.ts';
import {writeOptions} from './changes-elsewhere.ts';
import {filtersOf, readWanted, writeFilters} from './changes-filter.ts';
import {drawGroups} from './draw-change-groups.ts';
import {drawForm} from './draw-form.ts';
import {hideGroup} from './hide-change.ts';
import {type Look, linkTo} from './look.ts';
import {type Asked, definePage} from './page.ts';
import {Refused} from './refused.ts';
import {listTicked, readTicked} from './ticked-changes.ts';

interface Preview extends DecisionPreview {
  readonly choice: string;
}

/**
 * What a decision about many changes would do, before anything is done. It stands still while it is
 * read.
 */
export const changePreview = definePage<Preview>({
  path: '/changes/preview',
  section: '/changes',
  moving: [],
  read: async (asked) => {
    const {name, deciding} = chooseFrom(asked.query);
    return {...previewDecision(await find(asked), deciding), choice: name};
  },
  title: ({choice}) => `${labelOf(choice)}: what it would do`,
  draw: drawPreview,
  hide: (preview) => ({...preview, cannot: preview.cannot.map(hideGroup)}),
  elsewhere: (asked) => {
    const {query} = asked;
    const {deciding} = chooseFrom(query);
    const numbers = listTicked(query);
    const filters = writeOptions(asked);
    const chosen = query.all === 'yes' ? filters || ' --all' : ` ${numbers.join(' ') || 'NUMBER…'}`;
    const given = deciding.given === undefined ? '' : ` --take ${deciding.given}`;
    return {
      command: `fieldmirror changes ${deciding.verb}${chosen}${given}`,
      sql: `SELECT * FROM sync.decide_changes('{${numbers.join(',')}}', '${deciding.verb}'${deciding.given === undefined ? '' : `, '${deciding.given}'`});`,
    };
  },
});

async function find(asked: Asked) {
  const {db, query, accounts} = asked;
  if (query.all === 'yes') return await listDecidable(db, readWanted(asked), mostDecided + 1);
  const accountIds = accounts.map(({accountId}) => accountId);
  return await readDecidable(db, readTicked(query), accountIds);
}

function chooseFrom(query: Readonly<Record<string, string>>): Choice {
  const choice = findChoice(query.choice);
  if (choice !== undefined) return choice;
  throw new Refused(422, {
    title: 'There is no such decision',
    text: `choice: expected one of ${choices.map(({name}) => name).join(', ')}. Nothing was done.`,
    ways: [{href: '/changes', label: 'Back to the changes'}],
  });
}

function labelOf(name: string): string {
  return findChoice(name)?.label ?? name;
}

function drawPreview(preview: Preview, look: Look): SafeHtml {
  const {choice, can, canCount, cannot, cannotCount, isCut} = preview;
  const chosen = findChoice(choice);
  return html`
    <p class="lead">${chosen === undefined ? '' : `${capitalise(chosen.does)}.`}</p>
    <p>${tellCounts(canCount, cannotCount)} Nothing is done yet.</p>
    ${isCut ? html`<p>More changes match: these are the first ${formatNumber(mostDecided)}. Decide the rest when these are done.</p>` : ''}
    ${canCount === 0 || chosen === undefined ? '' : drawConfirmation(preview, chosen, look)}
    <p><a href="${linkTo(look, '/changes', filtersOf(look.query))}">Back to the changes</a></p>
    <h2>What would be done</h2>
    ${drawGroups(can, {look, head: 'kind', caption: 'Changes that can be decided so', none: 'Nothing: this is open to none of them.'})}
    <h2>What cannot be done, and why</h2>
    ${drawGroups(cannot, {look, head: 'why', caption: 'Changes that cannot be decided so', none: 'It is open to all of them.'})}`;
}

function capitalise(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function tellCounts(can: number, cannot: number): string {
  const done = `${formatNumber(can)} ${can === 1 ? 'change' : 'changes'} can be decided so`;
  return cannot === 0 ? `${done}.` : `${done}, ${formatNumber(cannot)} cannot.`;
}

function drawConfirmation(
  {canCount, numbers}: Preview,
  {name, label, isGrave}: Choice,
  look: Look,
) {
  return drawForm(look, {
    to: '/changes/decide',
    role: 'operator',
    label: `${label}: ${formatNumber(canCount)} ${canCount === 1 ? 'change' : 'changes'}`,
    fixed: {choice: name, numbers, filters: writeFilters(look.query)},
    ...(name === 'cancel'
      ? {fields: html`<label>Reason <input name="reason" maxlength="500" size="40"></label>`}
      : {}),
    isGrave,
  });
}
