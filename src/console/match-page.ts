// Matching with a list of an outside system: the console's form of `match`. A list is compared and
// shown with each pair side by side. The list is not stored, and nothing is written until a person
// links pairs. Pairs that were linked together are taken back together.

import {html, type SafeHtml} from '@remix-run/html-template';
import type {FastifyInstance, FastifyRequest} from 'fastify';
import {isSupportedCountry} from 'libphonenumber-js/min';
import {z} from 'zod';
import {UsageError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {checkShortName, defaultSystem} from '../core/names.ts';
import {isId} from '../core/text.ts';
import {partyColumns, readFileLines, readParties} from '../match/party-file.ts';
import {
  describeBatch,
  type LinkBatch,
  linkRows,
  listLinkBatches,
  type NewLink,
  unlinkRows,
} from '../rows/links.ts';
import {matchColumns, matchRows} from '../rows/matching.ts';
import {
  AccessRefused,
  checkForm,
  checkRole,
  type FormFields,
  findSeenAccount,
  readFormFields,
} from './access.ts';
import {renderPlain} from './layout.ts';
import {type MatchPlace, renderReview} from './match-review.ts';
import {
  type ConsoleDeps,
  defineAction,
  definePage,
  may,
  nameOfAccount,
  type PageContext,
} from './page.ts';
import {
  renderForm,
  renderHidden,
  renderMark,
  renderOption,
  renderTable,
  renderTime,
} from './render.ts';
import {readSeenAccounts} from './serve.ts';
import {viewerOf} from './sign-in.ts';

interface Story {
  readonly batches: readonly LinkBatch[];
}

const matchPath = '/match';
const batchLimit = 20;
const tables = Object.keys(matchColumns) as (keyof typeof matchColumns)[];

export const matchPage = definePage<Story>({
  path: matchPath,
  section: '/records',
  moving: [],
  read: async ({db, accounts}) => ({
    batches: await listLinkBatches(db, {
      accountIds: accounts.map(({accountId}) => accountId),
      limit: batchLimit,
    }),
  }),
  title: () => 'Match with an outside system',
  render: ({batches}, context) => html`
    <p>A list of an outside system, such as an ERP, is compared with the customers or employees
      that are mirrored. You see which are the same, decide about those that may be, and link
      them: each record gets the key that the system knows it by. Nothing is sent to the service.
      <a href="/docs/matching">How it is compared</a></p>
    ${renderCompareForm(context)}
    <h2>Linked so far</h2>
    ${renderBatches(batches, context)}`,
  elsewhere: () => ({
    command: 'fieldmirror match customers --system NAME --from parties.csv',
    sql: [
      'SELECT audit_id AS batch, at, name, subject FROM sync.audit',
      ` WHERE action = 'links.match' ORDER BY audit_id DESC LIMIT ${batchLimit};`,
    ].join('\n'),
  }),
});

function renderCompareForm(context: PageContext): SafeHtml | string {
  if (!may(context, 'operator'))
    return html`<p class="quiet">Comparing and linking take the role operator.</p>`;
  if (context.viewer.masks)
    return html`<p class="quiet">Personal data is hidden from your key, so that you could not
      compare it.</p>`;
  return html`<form method="post" action="${matchPath}/compare" enctype="multipart/form-data"
    class="card settings"><div class="action">
    ${renderHidden('form', context.viewer.formToken)}
    <div class="filters">
      <label>Account <select name="account">${context.seen.map(({name}) =>
        renderOption(name, name === context.query.account, name),
      )}</select></label>
      <label>Compare with <select name="table">${tables.map(
        (table) => html`<option>${table}</option>`,
      )}</select></label>
      <label>Outside system <input name="system" required maxlength="50" placeholder="tryton"
        ></label>
      <label>Country of telephone numbers <input name="country" size="4" maxlength="2"
        pattern="[A-Za-z]{2}" value="US"></label>
    </div>
    <label class="wide">Its list, a file of CSV or NDJSON
      <input type="file" name="file" accept=".csv,.tsv,.txt,.json,.ndjson,.jsonl"></label>
    <label class="wide">or its lines, with the columns ${partyColumns.join(', ')}
      <textarea name="lines" rows="4" placeholder="key,name,phone
P-1,Ada Lovelace,+1 503 555 0142"></textarea></label>
    <button>Compare</button></div></form>`;
}

function renderBatches(batches: readonly LinkBatch[], context: PageContext): SafeHtml {
  const isOperator = may(context, 'operator');
  return renderTable({
    isStacked: true,
    caption: 'Links that were written together, the newest first',
    columns: [
      {head: 'batch', kind: 'number'},
      'when',
      'by',
      'account',
      'table',
      'system',
      {head: 'links', kind: 'number'},
      ...(isOperator ? ['steps'] : []),
    ],
    rows: batches.map(({batch, at, by, accountId, table, system, count, isUndone}) => [
      batch,
      renderTime(at, context),
      by,
      nameOfAccount(context, accountId),
      table,
      system,
      count,
      ...(isOperator
        ? [
            isUndone
              ? renderMark('quiet', 'taken back')
              : renderForm(context, {
                  to: `${matchPath}/${batch}/undo`,
                  role: 'operator',
                  label: 'Take back',
                  fixed: {account: nameOfAccount(context, accountId), table},
                  isGrave: true,
                }),
          ]
        : []),
    ]),
    none: 'Nothing was linked by matching yet.',
  });
}

/** Bytes of a list with the other fields of its form: some seventy thousand parties. */
const longestListBytes = 8_000_000;
const multipart = 'multipart/form-data';

/** Accepts forms with a file, and answers the one that compares a list. */
export function addMatching(app: FastifyInstance, deps: ConsoleDeps): void {
  app.addContentTypeParser(
    multipart,
    {parseAs: 'buffer', bodyLimit: longestListBytes},
    async (request: FastifyRequest, body: Buffer) => await readForm(request, body),
  );
  app.post(`${matchPath}/compare`, async (request, reply) => {
    const viewer = viewerOf(request);
    const fields = readFormFields(request.body);
    checkForm(request, {viewer, formToken: fields.form, known: deps.known});
    checkRole(viewer, 'operator', matchPath);
    if (viewer.masks)
      throw new AccessRefused(403, {
        title: 'Your key may not do this',
        text: 'Personal data is hidden from it, and a list has nothing else. Nothing was done.',
        ways: [{href: matchPath, label: 'Back'}],
      });
    const place = readPlace(await readSeenAccounts(viewer, deps), fields);
    const {country = 'US'} = fields;
    const countryCode = country.toUpperCase();
    if (!isSupportedCountry(countryCode))
      throw new UsageError(`country: expected two letters such as US, got "${country}"`);
    const {parties, refused, unknown} = await readParties(readFileLines(readList(fields)), 'list');
    const matching = await matchRows(deps.pools.reads, place, {parties, country: countryCode});
    const body = renderReview({...matching, place, viewer, refused, unknown});
    return await reply
      .type('text/html; charset=utf-8')
      .send(renderPlain(`${place.table} of ${place.account} and ${place.system}`, body, viewer));
  });
}

/** @throws {UsageError} the body is not a form */
async function readForm({headers}: FastifyRequest, body: Buffer): Promise<FormFields> {
  const type = headers['content-type'] ?? multipart;
  const formData = await new Response(new Uint8Array(body), {headers: {'content-type': type}})
    .formData()
    .catch((cause: unknown) => {
      throw new UsageError('form: expected the fields of a form, got something else', {cause});
    });
  const fields: Record<string, string> = {};
  for (const [name, value] of formData)
    fields[name] = typeof value === 'string' ? value : await value.text();
  return fields;
}

type SeenAccounts = Parameters<typeof findSeenAccount>[0];

/** @throws {UsageError} no such table, or no name of a system */
function readPlace(
  seen: SeenAccounts,
  {account, table: givenTable, system}: FormFields,
): MatchPlace {
  const {accountId, name} = findSeenAccount(seen, account);
  const table = tables.find((candidate) => candidate === givenTable);
  if (table === undefined)
    throw new UsageError(`table: expected ${tables.join(' or ')}, got "${givenTable ?? ''}"`);
  const systemName = system?.trim() ?? defaultSystem;
  checkShortName(systemName, 'outside system');
  return {accountId, account: name, table, system: systemName, columns: matchColumns[table]};
}

/** @throws {UsageError} neither or both were given */
async function* readList({file = '', lines = ''}: FormFields): AsyncGenerator<string> {
  const isFile = file.trim() !== '';
  if (isFile === (lines.trim() !== ''))
    throw new UsageError(`list: expected a file or its lines, got ${isFile ? 'both' : 'neither'}`);
  yield* (isFile ? file : lines).split(/\r?\n/);
}

const textField = z.string().default('');
const pickPrefix = 'pick:';
const longestKey = 200;

/** Links the pairs that a person has chosen; the entry of the audit is their batch. */
export const applyMatch = defineAction({
  path: `${matchPath}/apply`,
  name: 'links.match',
  role: 'operator',
  form: z.looseObject({
    account: textField,
    table: textField,
    system: textField,
    sure: textField,
    takesSure: textField,
  }),
  act: async (db, {seen, fields}) => {
    const scope = readPlace(seen, readFormFields(fields));
    const links = readLinks(fields);
    if (links.length === 0) throw new UsageError('link: expected a pair to be chosen, got none');
    const rowIds = await linkRows(db, scope, links);
    if (rowIds.length === 0)
      throw new UsageError(
        'link: expected records without a key, got none: others have linked them meanwhile',
      );
    const leftCount = links.length - rowIds.length;
    const leftText =
      leftCount === 0
        ? ''
        : ` ${formatNumber(leftCount)} were linked by others meanwhile, and are left.`;
    const countText =
      rowIds.length === 1 ? '1 link is' : `${formatNumber(rowIds.length)} links are`;
    return {
      subject: `${scope.table} in system ${scope.system}`,
      accountId: scope.accountId,
      after: describeBatch(scope, rowIds),
      message: `${countText} written as one batch, which can be taken back here.${leftText}`,
      dropsReadings: true,
      to: matchPath,
    };
  },
});

/** @throws {UsageError} a pair without a row and a key, or a row or a key that is in two pairs */
function readLinks({takesSure, sure, ...fields}: Readonly<Record<string, unknown>>): NewLink[] {
  const pickedPairs = Object.entries(fields).flatMap(([name, rowId]) =>
    name.startsWith(pickPrefix) && rowId !== '' ? [[rowId, name.slice(pickPrefix.length)]] : [],
  );
  const links = [...(takesSure === 'yes' ? readSure(String(sure)) : []), ...pickedPairs].map(
    toLink,
  );
  for (const part of ['rowId', 'key'] as const) {
    const [duplicates] = [...Map.groupBy(links, (link) => link[part]).values()].flatMap((group) =>
      group.length > 1 ? [group] : [],
    );
    if (duplicates !== undefined)
      throw new UsageError(
        `link: expected each record and each key once, got ${duplicates
          .map(({rowId, key}) => `row ${rowId} as ${key}`)
          .join(' and ')}; go back, and choose one`,
      );
  }
  return links;
}

function readSure(json: string): unknown[] {
  try {
    const pairs: unknown = JSON.parse(json);
    return Array.isArray(pairs) ? pairs : [];
  } catch (cause) {
    throw new UsageError('link: expected pairs as the page wrote them, got something else', {
      cause,
    });
  }
}

function toLink(pair: unknown): NewLink {
  const [rowId, key]: unknown[] = Array.isArray(pair) ? pair : [];
  if (typeof rowId !== 'string' || !isId(rowId))
    throw new UsageError('link: expected the number of a row, got something else');
  if (typeof key !== 'string' || key === '' || key.length > longestKey || key.includes('\0'))
    throw new UsageError(`link: expected a key of 1 to ${longestKey} characters, got another`);
  return {rowId, key};
}

/** Removes the links of a batch, except those that were set or removed since. */
export const undoMatch = defineAction({
  path: `${matchPath}/:batch/undo`,
  name: 'links.undo',
  role: 'operator',
  form: z.object({account: textField, table: textField}),
  act: async (db, {seen, params: {batch = ''}, fields}) => {
    const {accountId, table, columns: _, ...place} = readPlace(seen, fields);
    if (!isId(batch)) throw new UsageError(`batch: expected its number, got "${batch}"`);
    const {system, rowIds, left: leftCount} = await unlinkRows(db, {accountId, table}, batch);
    const scope = {...place, accountId, table, system};
    const leftText =
      leftCount === 0 ? '' : ` ${formatNumber(leftCount)} were set or removed since, and are left.`;
    const count = formatNumber(rowIds.length);
    return {
      subject: `${table} in system ${system}`,
      accountId,
      after: {batch, ...describeBatch(scope, rowIds)},
      message: `The links of batch ${batch} are removed: ${count}.${leftText}`,
      dropsReadings: true,
      to: matchPath,
    };
  },
});
