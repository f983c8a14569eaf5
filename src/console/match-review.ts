// A list of an outside system beside the mirrored rows: the sure matches, the pairs that a person
// chooses from, and the records that are on one side only.

import {html, type SafeHtml} from '@remix-run/html-template';
import {formatNumber} from '../core/format.ts';
import type {Tone} from '../core/text.ts';
import {countDifferences, type Pair} from '../match/match.ts';
import type {Party, PlainParty} from '../match/party.ts';
import type {RefusedLine} from '../match/party-file.ts';
import {
  countBuckets,
  joinFilled,
  linkOf,
  type Matching,
  type MatchScope,
  type matchColumns,
  showAddresses,
} from '../rows/matching.ts';
import type {Viewer} from './access.ts';
import {pathOfRecord} from './records-page.ts';
import {renderFacts, renderHidden, renderMark, renderTable} from './render.ts';

/** The rows that a list is compared with. */
export interface MatchPlace extends MatchScope {
  readonly table: keyof typeof matchColumns;
  readonly account: string;
}

interface Review extends Matching {
  readonly place: MatchPlace;
  readonly viewer: Viewer;
  readonly refused: readonly RefusedLine[];
  readonly unknown: readonly string[];
}

/** How many sure pairs one form of a million bytes can hold. */
const mostSure = 10_000;
/** No person reads more choices on one page to the end. */
const mostChoices = 500;
const mostExamples = 20;
const mostRefusals = 20;

/** The matches, and the form that links them; none of the list is stored. */
export function renderReview(review: Review): SafeHtml {
  const {matches, linked, place, viewer} = review;
  const counts = countBuckets(matches);
  const choices = matches.several.slice(0, mostChoices);
  const hasLinks = counts.sure + choices.length > 0;
  return html`<p class="lead">${describeMatches(counts)} Nothing is written yet.</p>
${renderFacts([
  ['sure', counts.sure],
  ['several candidates', counts.several],
  ['only here', counts.onlyHere],
  ['only there', counts.onlyThere],
  ['linked already, of the list', linked.inFile],
  ['linked already, here', linked.here],
])}
${renderRefused(review)}
<form method="post" action="/match/apply" class="review">
  ${renderHidden('form', viewer.formToken)}${renderHidden('back', '/match')}
  ${renderHidden('account', place.account)}${renderHidden('table', place.table)}
  ${renderHidden('system', place.system)}
  ${counts.sure === 0 ? '' : renderSure(review)}
  ${
    counts.several === 0
      ? ''
      : html`<h2>May be the same</h2>
        <p>Choose the right one where you know it. What you leave is not linked, and comes again
          when you compare again.${
            counts.several > choices.length
              ? ` Here are the first ${formatNumber(choices.length)}.`
              : ''
          }</p>${choices.map((choice) => renderChoices(choice, review))}`
  }
  ${hasLinks ? html`<p class="actions"><button>Link what is chosen</button></p>` : ''}
</form>
${renderUnmatched({title: 'Only there', which: 'key'}, matches.onlyThere, ({party}) => party.id)}
${renderUnmatched({title: 'Only here', which: 'number'}, matches.onlyHere, ({party}) =>
  renderRowLink(party, review, ''),
)}
<p><a href="/match">Compare another list</a></p>`;
}

function describeMatches({sure, several}: ReturnType<typeof countBuckets>): string {
  if (sure + several === 0) return 'No record is likely to be one of the list.';
  const parts = [
    ...(sure === 0 ? [] : [`${formatNumber(sure)} ${sure === 1 ? 'is' : 'are'} surely the same`]),
    ...(several === 0 ? [] : [`${formatNumber(several)} may be, and wait for you`]),
  ];
  return `${parts.join('; ')}.`;
}

function renderRefused({refused, unknown}: Review): SafeHtml {
  const items = refused
    .slice(0, mostRefusals)
    .map(({line, refusal}) => html`<li>Line ${line}: ${refusal}; it is left out.</li>`);
  const restCount = refused.length - items.length;
  return html`${items.length === 0 ? '' : html`<ul class="links">${items}</ul>`}${
    restCount > 0 ? html`<p>${formatNumber(restCount)} more lines are left out.</p>` : ''
  }${
    unknown.length === 0
      ? ''
      : html`<p class="quiet">Not read: column ${unknown.join(', column ')}.</p>`
  }`;
}

function renderSure(review: Review): SafeHtml {
  const {sure} = review.matches;
  const links = sure.slice(0, mostSure).map(linkOf);
  const pairs = links.map(({rowId, key}) => [rowId, key]);
  const examples = sure.slice(0, mostExamples);
  return html`<h2>Surely the same</h2>
${renderHidden('sure', JSON.stringify(pairs))}
<p><label><input type="checkbox" name="takesSure" value="yes" checked>
  Link ${links.length === 1 ? 'this pair' : `these ${formatNumber(links.length)} pairs`}</label>${
    sure.length > links.length ? '; the others when you compare again' : ''
  }</p>
${renderTable({
  caption: 'The sure pairs, field by field',
  columns: [
    'field',
    ...['equal', 'differ', 'only here', 'only there'].map(
      (head) => ({head, kind: 'number'}) as const,
    ),
  ],
  rows: countDifferences(sure).map(({field, equal, differ, onlyHere, onlyThere}) => [
    ...[field, equal, differ, onlyHere, onlyThere],
  ]),
  none: '',
})}
<details><summary>${
    examples.length === sure.length ? 'Each pair' : `The first ${examples.length} pairs`
  }</summary>${renderTable({
    caption: 'Sure pairs',
    columns: ['key', 'there', 'here', 'differs in'],
    rows: examples.map((pair) => [
      pair.theirs.party.id,
      pair.theirs.party.name,
      renderRowLink(pair.ours.party, review),
      listDifferences(pair).join(', '),
    ]),
    none: '',
  })}</details>`;
}

const comparedFields = ['name', 'phone', 'email', 'address'] as const;

function listDifferences({likeness}: Pair): string[] {
  return comparedFields.filter((field) => markOf(likeness[field])?.[0] === 'warning');
}

/** How our value compares with theirs; null if one of them is missing. */
function markOf(level: Pair['likeness'][(typeof comparedFields)[number]]): [Tone, string] | null {
  if (level === null) return null;
  if (level === 'same' || level === 'agrees') return ['good', 'the same'];
  if (level === 'near') return ['busy', 'nearly the same'];
  return level === 'part' ? ['busy', 'says more or less'] : ['warning', 'differs'];
}

type Choice = Review['matches']['several'][number];

/** One of their records beside each of ours that may be the same. */
function renderChoices({theirs, pairs}: Choice, review: Review): SafeHtml {
  const {id, name} = theirs.party;
  const title = joinFilled([id, name], ': ');
  const radio = (value: string, label: string, isChosen: boolean) =>
    html`<label><input type="radio" name="pick:${id}" value="${value}"${
      isChosen ? html` checked` : ''
    }> ${label}</label>`;
  return html`<fieldset class="card"><legend>${title}</legend>
${renderTable({
  caption: `${title}, beside what it may be`,
  columns: [
    'field',
    `in ${review.place.system}`,
    ...pairs.map(({ours}) => `here: ${numberOf(ours.party, review)}`),
  ],
  rows: [
    ...listFilledFields([theirs, ...pairs.map(({ours}) => ours)]).map((field) => [
      html`<strong class="whole">${field}</strong>`,
      html`<span class="what">${formatField(theirs.party, field)}</span>`,
      ...pairs.map(({ours, likeness}) => {
        const mark = markOf(likeness[field]);
        return html`<span class="what">${formatField(ours.party, field)}</span>${
          mark === null ? '' : html`<small>${renderMark(...mark)}</small>`
        }`;
      }),
    ]),
    [
      '',
      radio('', 'none of them', true),
      ...pairs.map(
        ({ours}) => html`${radio(ours.party.id, 'this one', false)}
          <small>${renderRowLink(ours.party, review)}</small>`,
      ),
    ],
  ],
  none: '',
})}</fieldset>`;
}

/** The fields for which at least one of some parties has a value. */
function listFilledFields(parties: readonly PlainParty[]) {
  return comparedFields.filter((field) =>
    parties.some(({party}) => formatField(party, field) !== ''),
  );
}

function formatField(party: Party, field: (typeof comparedFields)[number]): string {
  if (field === 'name') return party.name;
  if (field === 'address') return showAddresses(party);
  return joinFilled(field === 'phone' ? party.phones : party.emails);
}

function numberOf({id}: Party, {rows, place}: Review): string {
  return rows.get(id)?.values[place.columns.number] ?? `row ${id}`;
}

function renderRowLink(party: Party, {rows, place}: Review, name = party.name): SafeHtml {
  const number = rows.get(party.id)?.values[place.columns.number] ?? null;
  const {table: stream, account} = place;
  const address = pathOfRecord({stream, number, rowId: party.id});
  const label = joinFilled([number ?? `row ${party.id}`, name], ' ');
  return html`<a href="${address}?${String(new URLSearchParams({account}))}">${label}</a>`;
}

function renderUnmatched(
  {title, which: firstHead}: {readonly title: string; readonly which: string},
  parties: readonly PlainParty[],
  renderFirstCell: (party: PlainParty) => SafeHtml | string,
): SafeHtml | string {
  if (parties.length === 0) return '';
  const examples = parties.slice(0, mostExamples);
  const count =
    examples.length === parties.length
      ? formatNumber(parties.length)
      : `the first ${examples.length} of ${formatNumber(parties.length)}`;
  return html`<details><summary>${title}: ${count}</summary>${renderTable({
    caption: title,
    isStacked: true,
    columns: [{head: firstHead, isTitle: true}, ...comparedFields],
    rows: examples.map((plainParty) => [
      renderFirstCell(plainParty),
      ...comparedFields.map(
        (field) => html`<span class="what">${formatField(plainParty.party, field)}</span>`,
      ),
    ]),
    none: '',
  })}</details>`;
}
