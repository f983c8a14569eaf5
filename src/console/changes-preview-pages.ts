// Decisions about many changes, and the undo of changes: a preview before anything is done, and the
// action behind it.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import type {Change} from '../changes/change.ts';
import {
  type ChangeGroup,
  type DecisionPreview,
  decideMany as decide,
  listDecidable,
  listUndoable,
  maxDecidedAtOnce,
  noteDecision,
  previewDecision,
  readDecidable,
} from '../changes/decisions.ts';
import type {PlannedRequest, Unplannable} from '../changes/request.ts';
import {nameUndo, noteUndo, previewUndo, type UndoPreview, undoMany} from '../changes/undo.ts';
import {
  describeChangeCount,
  describeDecisions,
  describeUndo,
  formatWantedValue,
  nameChange,
} from '../changes/words.ts';
import {UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {capitalise} from '../core/text.ts';
import {readNumbers, writeNumbers} from '../rows/number-set.ts';
import {AccessRefused} from './access.ts';
import {
  type Choice,
  choices,
  filtersOf,
  findChoice,
  formatFilters,
  formatOptions,
  listTicked,
  readChangeFilter,
  readTicked,
} from './changes-page.ts';
import {hideChange, hideGroup, hideRequest} from './hide-change.ts';
import {defineAction, definePage, linkTo, type PageContext, type PageRequest} from './page.ts';
import {renderForm, renderProse, renderTable} from './render.ts';

interface ChosenPreview extends DecisionPreview {
  readonly choice: string;
}

/**
 * The preview of a decision about many changes, before anything is done. It does not reload while a
 * person reads it.
 */
export const changePreviewPage = definePage<ChosenPreview>({
  path: '/changes/preview',
  section: '/changes',
  moving: [],
  read: async (request) => {
    const {name, deciding} = readChoice(request.query);
    return {...previewDecision(await findDecidable(request), deciding), choice: name};
  },
  title: ({choice}) => `Preview: ${labelOf(choice)}`,
  render: renderDecisionPreview,
  hide: (preview) => ({...preview, cannot: preview.cannot.map(hideGroup)}),
  elsewhere: (request) => {
    const {query} = request;
    const {deciding} = readChoice(query);
    const numbers = listTicked(query);
    const filters = formatOptions(request);
    const selection =
      query.all === 'yes' ? filters || ' --all' : ` ${numbers.join(' ') || 'NUMBER…'}`;
    const takeOption = deciding.argument === undefined ? '' : ` --take ${deciding.argument}`;
    const argument = deciding.argument === undefined ? '' : `, '${deciding.argument}'`;
    const changeIds = numbers.join(',');
    return {
      command: `fieldmirror changes ${deciding.verb}${selection}${takeOption}`,
      sql: `SELECT * FROM sync.decide_changes('{${changeIds}}', '${deciding.verb}'${argument});`,
    };
  },
});

async function findDecidable(request: PageRequest) {
  const {db, query, accounts} = request;
  if (query.all === 'yes')
    return await listDecidable(db, readChangeFilter(request), maxDecidedAtOnce + 1);
  const accountIds = accounts.map(({accountId}) => accountId);
  return await readDecidable(db, readTicked(query), accountIds);
}

function readChoice(query: Readonly<Record<string, string>>): Choice {
  const choice = findChoice(query.choice);
  if (choice !== undefined) return choice;
  throw new AccessRefused(422, {
    title: 'There is no such decision',
    text: `choice: expected one of ${choices.map(({name}) => name).join(', ')}. Nothing was done.`,
    ways: [{href: '/changes', label: 'Back to the changes'}],
  });
}

function labelOf(name: string): string {
  return findChoice(name)?.label ?? name;
}

const cutNotice =
  `More changes match: these are the first ${formatNumber(maxDecidedAtOnce)}. ` +
  'Decide the rest when these are done.';

function renderDecisionPreview(preview: ChosenPreview, context: PageContext): SafeHtml {
  const {choice, can, canCount, cannot, cannotCount, isCut} = preview;
  const decision = findChoice(choice);
  return html`
    <p class="lead">${decision === undefined ? '' : `${capitalise(decision.does)}.`}</p>
    <p>${describeDecidable(canCount, cannotCount)} Nothing is done yet.</p>
    ${isCut ? html`<p>${cutNotice}</p>` : ''}
    ${canCount === 0 || decision === undefined ? '' : renderDecideForm(preview, decision, context)}
    <p><a href="${linkTo(
      context,
      '/changes',
      filtersOf(context.query),
    )}">Back to the changes</a></p>
    <h2>What would be done</h2>
    ${renderGroups(can, {
      context,
      head: 'kind',
      caption: 'Changes that can be decided this way',
      none: 'Nothing: this is open to none of them.',
    })}
    <h2>What cannot be done, and why</h2>
    ${renderGroups(cannot, {
      context,
      head: 'why',
      caption: 'Changes that cannot be decided this way',
      none: 'It is open to all of them.',
    })}`;
}

function describeDecidable(decidableCount: number, undecidableCount: number): string {
  const sentence = `${formatNumber(decidableCount)} ${
    decidableCount === 1 ? 'change' : 'changes'
  } can be decided this way`;
  return undecidableCount === 0
    ? `${sentence}.`
    : `${sentence}, ${formatNumber(undecidableCount)} cannot.`;
}

function renderDecideForm(
  {canCount, numbers}: ChosenPreview,
  {name, label, isGrave}: Choice,
  context: PageContext,
) {
  return renderForm(context, {
    to: '/changes/decide',
    role: 'operator',
    label: `${label}: ${formatNumber(canCount)} ${canCount === 1 ? 'change' : 'changes'}`,
    fixed: {choice: name, numbers, filters: formatFilters(context.query)},
    ...(name === 'cancel'
      ? {fields: html`<label>Reason <input name="reason" maxlength="500" size="40"></label>`}
      : {}),
    isGrave,
  });
}

/**
 * Applies one decision to many changes, as the preview showed them. The changes for which it is
 * possible are decided in one transaction with one entry of the audit. A person decided once, so
 * either all of that is stored or none of it.
 */
export const decideManyAction = defineAction({
  path: '/changes/decide',
  name: 'changes.decide',
  role: 'operator',
  form: z.object({
    choice: z.string(),
    numbers: z.string().max(400_000),
    reason: z.string().trim().max(500).default(''),
    filters: z.string().max(2_000).default(''),
  }),
  act: async (db, {seen, fields}) => {
    const choice = findChoice(fields.choice);
    const numbers = readNumbers(fields.numbers, maxDecidedAtOnce);
    if (choice === undefined || numbers === null || numbers.length === 0)
      throw new UsageError(
        'changes: expected a decision and the numbers of changes, as the preview has them',
      );
    const isReasoned = choice.deciding.verb === 'cancel' && fields.reason !== '';
    const deciding = isReasoned ? {...choice.deciding, argument: fields.reason} : choice.deciding;
    const decidable = await readDecidable(
      db,
      numbers,
      seen.map(({accountId}) => accountId),
    );
    const decidedChanges = await decide(
      db,
      decidable.map(({changeId}) => changeId),
      deciding,
    );
    const accountIds = new Set(decidable.map(({accountId}) => accountId));
    const [accountId = null] = accountIds;
    return {
      accountId: accountIds.size === 1 ? accountId : null,
      ...noteDecision(decidable, decidedChanges, deciding),
      message: Object.values(describeDecisions(decidedChanges)).join(' ').trim(),
      to: `/changes?${new URLSearchParams(fields.filters)}`,
    };
  },
});

/** A person reads only some of what would be written; the command prints all of it. */
const requestLimit = 50;

interface UndoStory extends Pick<UndoPreview, 'cancelledCount' | 'undoneCount' | 'refused'> {
  readonly madeCount: number;
  /** The first changes that would be made, each with its request. */
  readonly made: readonly {
    readonly change: Change;
    readonly request: PlannedRequest | Unplannable;
  }[];
  /**
   * The numbers of those that can be taken back, wholly or in part, in the form that `readNumbers`
   * reads.
   */
  readonly numbers: string;
}

/**
 * The preview of an undo: the changes that would be made, and those that are left, with the reason.
 * It does not reload while a person reads it.
 */
export const undoPreviewPage = definePage<UndoStory>({
  path: '/changes/undo',
  section: '/changes',
  role: 'operator',
  moving: [],
  read: readUndoPreview,
  title: () => 'Preview of the undo',
  render: renderUndoPreview,
  hide: (preview) => ({
    ...preview,
    refused: preview.refused.map(hideGroup),
    made: preview.made.map(({change, request}) => ({
      change: hideChange(change),
      request: hideRequest(request),
    })),
  }),
  elsewhere: (request) => {
    const numbers = listTicked(request.query);
    const isAll = request.query.all === 'yes';
    const selection = isAll
      ? formatOptions(request) || ' --all'
      : ` ${numbers.join(' ') || 'NUMBER…'}`;
    return {
      command: `fieldmirror changes undo${selection} --dry-run`,
      sql: `SELECT * FROM sync.undo_changes('{${numbers.join(',')}}', 'name of the undo');`,
    };
  },
});

async function readUndoPreview(request: PageRequest): Promise<UndoStory> {
  const {db} = request;
  const batch = nameUndo(request.query.batch ?? null, new Date());
  const undo = await previewUndo(db, await findUndoable(request), batch, {
    mostRequests: requestLimit,
  });
  const {cancelledCount, undoneCount, refused, created: newChanges, requests, changes} = undo;
  return {
    cancelledCount,
    undoneCount,
    refused,
    madeCount: newChanges.length,
    made: requests.flatMap((plannedRequest, index) => {
      const change = newChanges[index];
      return change === undefined ? [] : [{change, request: plannedRequest}];
    }),
    numbers: writeNumbers(
      changes.flatMap(({changeId, outcome}) => (outcome === null ? [] : [changeId])),
    ),
  };
}

/** @throws {AccessRefused} none is ticked, or more match than are taken back at once */
async function findUndoable(request: PageRequest): Promise<string[]> {
  const {db, query, accounts} = request;
  if (query.all !== 'yes') {
    const accountIds = accounts.map(({accountId}) => accountId);
    const ticked = await readDecidable(db, readTicked(query), accountIds);
    return ticked.map(({changeId}) => changeId);
  }
  const changeIds = await listUndoable(db, readChangeFilter(request), maxDecidedAtOnce + 1);
  if (changeIds.length <= maxDecidedAtOnce) return changeIds;
  throw new AccessRefused(422, {
    title: 'These are too many to take back at once',
    text:
      `Expected at most ${formatNumber(maxDecidedAtOnce)} changes, and more match. ` +
      'Narrow the filter, for example by table, batch or time. Nothing was done.',
    ways: [{href: linkTo({query}, '/changes', filtersOf(query)), label: 'Back to the changes'}],
  });
}

function renderUndoPreview(preview: UndoStory, context: PageContext): SafeHtml {
  const {
    cancelledCount,
    undoneCount,
    madeCount,
    made: newChanges,
    refused: refusedGroups,
  } = preview;
  const count = cancelledCount + undoneCount;
  return html`
    <p class="lead">Write back what the changes were made from.
      What it makes is held: nothing is sent before a person releases it.</p>
    <p>${describeUndoCounts(preview)} Nothing is done yet.</p>
    ${count === 0 ? '' : renderUndoForm(preview, count, context)}
    <p><a href="${linkTo(
      context,
      '/changes',
      filtersOf(context.query),
    )}">Back to the changes</a></p>
    <h2>What would be written</h2>
    ${
      madeCount > newChanges.length
        ? html`<p>These are the first ${formatNumber(newChanges.length)}
            of ${formatNumber(madeCount)}.</p>`
        : ''
    }
    ${renderNewChanges(preview, context)}
    <h2>What is left, and why</h2>
    ${renderLeftChanges(refusedGroups, context)}`;
}

function describeUndoCounts({cancelledCount, undoneCount, madeCount}: UndoStory): string {
  const sentences = [
    cancelledCount === 0
      ? ''
      : `${describeChangeCount(cancelledCount)}, not sent yet, would be given up.`,
    undoneCount === 0
      ? ''
      : `${describeChangeCount(undoneCount)}, done, ` +
        `would be taken back by ${describeChangeCount(madeCount)}.`,
  ];
  return (
    sentences.filter((sentence) => sentence !== '').join(' ') || 'None of them can be taken back.'
  );
}

function renderUndoForm(
  {numbers}: UndoStory,
  count: number,
  context: PageContext,
): SafeHtml | string {
  return renderForm(context, {
    to: '/changes/undo',
    role: 'operator',
    label: `Take back ${describeChangeCount(count)}`,
    fixed: {numbers, batch: context.query.batch ?? '', filters: formatFilters(context.query)},
    isGrave: true,
  });
}

function renderNewChanges({made: newChanges}: UndoStory, context: PageContext): SafeHtml {
  return renderTable({
    caption: 'What would be written to take the changes back',
    columns: ['takes back', 'record', 'fields', 'request'],
    rows: newChanges.map(({change, request}) => [
      renderNumbers(change.undoes ?? [], context),
      renderProse(nameChange(change), context),
      html`<ul class="links">${Object.keys(change.fields).map(
        (field) => html`<li>${renderField(field, change)}</li>`,
      )}</ul>`,
      renderRequest(request),
    ]),
    none: 'Nothing: no separate change is needed.',
    isStacked: true,
  });
}

function renderField(field: string, {base, fields}: Change): SafeHtml {
  const before = html`<span class="value">${formatWantedValue(base[field])}</span>`;
  const after = html`<span class="value">${formatWantedValue(fields[field])}</span>`;
  return html`<code>${field}</code>: ${before} becomes ${after}`;
}

function renderRequest(request: PlannedRequest | Unplannable): SafeHtml {
  if ('problem' in request)
    return html`<span class="why">Nothing can be sent: ${request.problem}</span>`;
  const {method, path, body} = request;
  return html`<code>${method} ${path}</code>${
    body === null
      ? ''
      : html`<details><summary>The document</summary>
      <pre tabindex="0">${body.trimEnd()}</pre></details>`
  }`;
}

function renderLeftChanges(refusedGroups: readonly ChangeGroup[], context: PageContext): SafeHtml {
  return renderGroups(refusedGroups, {
    context,
    head: 'why',
    caption: 'Changes of which something is left',
    none: 'Nothing is left.',
  });
}

/**
 * Takes changes back as the preview showed them, in one transaction with one entry of the audit.
 * The changes that it makes are held.
 */
export const undoChangesAction = defineAction({
  path: '/changes/undo',
  name: 'changes.undo',
  role: 'operator',
  form: z.object({
    numbers: z.string().max(400_000),
    batch: z.string().max(200).default(''),
    filters: z.string().max(2_000).default(''),
  }),
  act: async (db, {seen, fields}) => {
    const numbers = readNumbers(fields.numbers, maxDecidedAtOnce);
    if (numbers === null || numbers.length === 0)
      throw new UsageError('undo: expected the numbers of changes, as the preview has them');
    const accountIds = seen.map(({accountId}) => accountId);
    const decidable = await readDecidable(db, numbers, accountIds);
    const batch = nameUndo(fields.batch === '' ? null : fields.batch, new Date());
    const changeIds = decidable.map(({changeId}) => changeId);
    const undo = await undoMany(db, changeIds, batch);
    const [accountId = null, ...otherAccountIds] = new Set(
      decidable.map((change) => change.accountId),
    );
    return {
      accountId: otherAccountIds.length === 0 ? accountId : null,
      ...noteUndo(decidable, undo),
      message: describeUndo(undo),
      to:
        undo.undoneCount > 0
          ? `/changes?${new URLSearchParams({batch})}`
          : `/changes?${new URLSearchParams(fields.filters)}`,
    };
  },
});

interface GroupTable {
  readonly context: PageContext;
  readonly head: string;
  readonly caption: string;
  readonly none: string;
}

/** Groups of changes, each with links to the first of them. */
function renderGroups(
  groups: readonly ChangeGroup[],
  {context, head, caption, none}: GroupTable,
): SafeHtml {
  return renderTable({
    caption,
    columns: [head, {head: 'changes', kind: 'number'}, 'the first'],
    rows: groups.map(({what, count, first}) => [
      renderProse(what, context),
      count,
      renderNumbers(first, context),
    ]),
    none,
  });
}

function renderNumbers(changeIds: readonly string[], context: PageContext): SafeHtml {
  return html`${changeIds.map(
    (id, index) =>
      html`${index === 0 ? '' : ', '}<a href="${linkTo(context, `/changes/${id}`)}">${id}</a>`,
  )}`;
}
