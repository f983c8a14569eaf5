// Fields that were ever seen in the service's records, and the names that they are given in mart.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import type {Tone} from '../core/text.ts';
import {
  type FieldHit,
  type FieldsStory,
  hideFields,
  readFields,
} from '../explain/search-records.ts';
import {nameField} from '../star/fields.ts';
import {AccessRefused, findSeenAccount, makeNotFound} from './access.ts';
import {defineAction, definePage, hidden, linkTo, type Page, type PageContext} from './page.ts';
import {
  renderChosenAccount,
  renderFacts,
  renderForm,
  renderMark,
  renderOption,
  renderTable,
  renderTime,
  showMinute,
} from './render.ts';

export const fieldsPage: Page = definePage({
  path: '/fields',
  section: '/fields',
  moving: ['sweeps'],
  read: async ({db, accounts, query}) => {
    const story = await readFields(db, accounts, {
      table: query.table ?? null,
      field: query.field ?? null,
    });
    if (story.unknown === null) return story;
    const subject =
      query.field === undefined ? `table ${story.table}` : `field ${query.field} of ${story.table}`;
    throw makeNotFound(
      `${subject} among those that were ever seen${story.unknown}`,
      story.tables.map(({table}) => ({href: `/fields?table=${table}`, label: table})),
    );
  },
  title: ({field, table}) => (field === null ? 'Fields' : `Field ${field} of ${table}`),
  render: (story, context) =>
    story.field === null ? renderFieldList(story, context) : renderField(story, context),
  hide: (story) => hideFields(story, hidden),
  elsewhere: ({query}) => ({
    command: 'fieldmirror status',
    sql: [
      'SELECT field, types, column_name, filled_share, first_seen_at, promoted_as FROM sync.fields',
      `WHERE table_name = '${(query.table ?? 'jobs').replaceAll("'", "''")}' ORDER BY field;`,
    ].join(' '),
  }),
});

function renderFieldList(story: FieldsStory, context: PageContext): SafeHtml {
  const {tables, table, fields, hasMore} = story;
  const hasAccounts = context.seen.length > 1;
  return html`<p class="lead">${
    tables.length === 0
      ? 'No field was seen yet: the first sweep finds them.'
      : `${fields.length} ${fields.length === 1 ? 'field' : 'fields'} of ${table}.`
  }</p>
<form class="filters"><label>Table <select name="table">${tables.map((entry) =>
    renderOption(entry.table, entry.table === table, `${entry.table} (${entry.count})`),
  )}</select></label> ${renderChosenAccount(context)}<button>Show</button></form>
<h2>Changes of the last ${story.days} days</h2>
${renderEvents(story, context)}
<h2>Fields of ${table}</h2>
${renderTable({
  caption: `Fields of ${table}`,
  isStacked: true,
  columns: [
    {head: 'field', isTitle: true},
    'types',
    'kept in',
    {head: 'filled', kind: 'number'},
    'first seen',
    ...(hasAccounts ? ['account'] : []),
  ],
  rows: fields.map((field) => [
    html`<a href="${linkTo(context, '/fields', {table, field: field.field})}">${field.field}</a>${
      field.vanishedAt === null ? '' : html` <small>${renderMark('warning', 'vanished')}</small>`
    }`,
    renderTypes(field),
    renderStorage(field),
    renderShare(field),
    showMinute(field.firstSeenAt, context.timeZone).slice(0, 10),
    ...(hasAccounts ? [field.account] : []),
  ]),
  none: 'None was seen.',
})}${hasMore ? html`<p class="quiet">There are more: choose an account.</p>` : ''}`;
}

function renderField(story: FieldsStory, context: PageContext): SafeHtml {
  const {table, fields} = story;
  return html`<p><a href="${linkTo(context, '/fields', {table})}">All fields of ${table}</a></p>
${fields.map(
  (field) =>
    html`${context.seen.length > 1 ? html`<h2>In account ${field.account}</h2>` : ''}${renderFacts([
      ['types', renderTypes(field)],
      ['kept in', renderStorage(field)],
      ['filled in', renderShare(field)],
      ['examples', field.examples.join(' · ')],
      ['first seen', renderTime(field.firstSeenAt, context)],
      ['last read', renderTime(field.lastSeenAt, context)],
      ['vanished', renderTime(field.vanishedAt, context)],
    ])}${renderNameForms(field, context)}`,
)}
<h2>Changes of the last ${story.days} days</h2>
${renderEvents(story, context)}`;
}

/**
 * The forms that give a field without a column a name, or remove the name. Under the name it is a
 * column of mart.
 */
function renderNameForms(
  {account, tableName, field, columnName, types, promotedAs}: FieldHit,
  context: PageContext,
) {
  if (columnName !== null || types.includes('secret')) return '';
  const actionPath = `/fields/${tableName}/${encodeURIComponent(field)}/name`;
  const fixed = {account, was: promotedAs ?? ''};
  const input = html`<label>Name in mart.${tableName} <input name="name"
    value="${promotedAs ?? ''}" maxlength="63" pattern="[a-z][a-z0-9_]*" required></label>`;
  const role = 'admin';
  return html`<div class="actions">${renderForm(context, {
    to: actionPath,
    role,
    label: 'Give it this name',
    fixed,
    fields: input,
  })}
${
  promotedAs === null
    ? ''
    : renderForm(context, {
        to: actionPath,
        role,
        label: 'Take its name away',
        fixed: {...fixed, name: ''},
        isGrave: true,
      })
}</div>`;
}

const eventTones: Readonly<Record<string, Tone>> = {
  new: 'busy',
  returned: 'good',
  vanished: 'warning',
  retyped: 'warning',
};

function renderEvents({events, days}: FieldsStory, context: PageContext): SafeHtml {
  const hasAccounts = context.seen.length > 1;
  return renderTable({
    caption: `Changes in fields of the last ${days} days`,
    isStacked: true,
    columns: ['when', 'field', 'what', 'detail', 'found by', ...(hasAccounts ? ['account'] : [])],
    rows: events.map(({at, tableName, field, kind, detail, sweepId, account}) => [
      renderTime(at, context),
      html`<a href="${linkTo(context, '/fields', {table: tableName, field})}">${tableName}.${
        field
      }</a>`,
      renderMark(eventTones[kind] ?? 'quiet', kind),
      detail,
      html`<a href="/sweeps/${sweepId}">sweep ${sweepId}</a>`,
      ...(hasAccounts ? [account] : []),
    ]),
    none: `No field came, went or changed its type in the last ${days} days.`,
  });
}

function renderTypes({types}: FieldHit): string {
  return types.length === 0 ? 'always empty' : types.join(', ');
}

function renderStorage({columnName, types, promotedAs}: FieldHit): SafeHtml | string {
  if (types.includes('secret')) return 'a secret: dropped, never stored';
  if (columnName !== null) return columnName;
  return promotedAs === null ? 'extra' : html`extra, in mart as <strong>${promotedAs}</strong>`;
}

function renderShare({filledShare}: FieldHit): string {
  if (filledShare === null) return '';
  const percent = filledShare * 100;
  return percent > 0 && percent < 1 ? 'under 1 %' : `${Math.round(percent)} %`;
}

/**
 * Gives a field without a column a name, under which it is a column of mart. An empty name removes
 * the present one.
 */
export const giveFieldName = defineAction({
  path: '/fields/:table/:field/name',
  name: 'fields.name',
  role: 'admin',
  form: z.object({account: z.string(), was: z.string(), name: z.string().trim().max(63)}),
  act: async (db, {seen, params, fields}) => {
    const {table = '', field = ''} = params;
    const {accountId, name: account} = findSeenAccount(seen, fields.account);
    const [previousName, name] = [emptyToNull(fields.was), emptyToNull(fields.name)];
    if (!(await nameField(db, {accountId, table, field, was: previousName, name})))
      throw makeTooLateRefusal(table, field);
    return {
      subject: `field ${table}.${field} of account ${account}`,
      accountId,
      before: {promotedAs: previousName},
      after: {promotedAs: name},
      message:
        name === null
          ? `${field} has lost its name: mart.${table} no longer has a column ${previousName}.`
          : `${field} is now the column ${name} of mart.${table}.`,
    };
  },
});

function emptyToNull(text: string): string | null {
  return text === '' ? null : text;
}

function makeTooLateRefusal(table: string, field: string): AccessRefused {
  return new AccessRefused(409, {
    title: 'It came too late',
    text:
      `${field} of ${table} is not known, or somebody has given it another name meanwhile. ` +
      'Nothing was overwritten.',
    ways: [
      {href: `/fields?${new URLSearchParams({table, field})}`, label: 'Look at it as it is now'},
    ],
  });
}
