// Facts about an account that the service lacks and a person may set: hours, currency, closed days,
// the hours of single technicians, names for numbers.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import {
  type Capacity,
  type ClosedDay,
  deleteCapacity,
  deleteClosedDay,
  deleteLabel,
  type InsightSettings,
  type Label,
  labelKinds,
  listCapacity,
  listClosedDays,
  listEmployeeNumbers,
  listInsightSettings,
  listLabels,
  listUnlabelled,
  type Unlabelled,
  writeCapacity,
  writeClosedDay,
  writeInsightSettings,
  writeLabel,
} from '../accounts/settings.ts';
import {UsageError} from '../core/errors.ts';
import {isId} from '../core/text.ts';
import {calendarDay, findUnknownEmployee, insight} from '../settings/account-sections.ts';
import {hoursOfDay} from '../settings/section.ts';
import {findSeenAccount} from './access.ts';
import {defineAction, definePage, linkTo, may, type PageContext, type PageRequest} from './page.ts';
import {renderFacts, renderForm, renderMark, renderOption, renderTable} from './render.ts';

interface AccountSettings extends InsightSettings {
  readonly account: string;
  readonly closedDays: readonly Omit<ClosedDay, 'account'>[];
  readonly capacity: readonly Omit<Capacity, 'account'>[];
  readonly labels: readonly Omit<Label, 'account'>[];
  /** Numbers in records that have no name yet. */
  readonly unlabelled: readonly Omit<Unlabelled, 'account'>[];
}

interface Story {
  readonly accounts: readonly AccountSettings[];
}

const emptySettings: InsightSettings = {
  currency: null,
  workingHours: null,
  repeatVisitDays: null,
  onTimeGraceMinutes: null,
};

export const settingsPage = definePage<Story>({
  path: '/settings',
  section: '/settings',
  moving: [],
  read: readStory,
  title: () => 'Settings',
  render: ({accounts}, context) => html`
    <p>What the service does not know of your business. A figure that needs a setting is left
      out until it is set.</p>
    ${accounts.map((settings) => renderAccount(settings, context))}
    ${accounts.length === 0 ? html`<p class="none">No account is mirrored yet.</p>` : ''}
    <p class="quiet">Settings of the program are on the page
      <a href="${linkTo(context, '/health')}">Health</a>.</p>`,
  elsewhere: () => ({command: 'fieldmirror config export', sql: 'SELECT * FROM mart.settings;'}),
});

/** Unnamed numbers of one kind that are shown. */
const mostUnlabelled = 20;
/** With more accounts, the numbers are searched only once an account was chosen. */
const fewAccounts = 3;

async function readStory({db, accounts}: PageRequest): Promise<Story> {
  const allSettings = await listInsightSettings(db);
  const closedDays = byAccount(await listClosedDays(db));
  const capacity = byAccount(await listCapacity(db));
  const labels = byAccount(await listLabels(db));
  const searchedAccounts = accounts.length > fewAccounts ? [] : accounts;
  const unlabelled = await Promise.all(
    searchedAccounts.map((account) => listUnlabelled(db, account, mostUnlabelled)),
  );
  const unnamed = byAccount(unlabelled.flat());
  return {
    accounts: accounts.map(({name}) => ({
      ...emptySettings,
      ...allSettings.find(({account}) => account === name),
      account: name,
      closedDays: closedDays(name),
      capacity: capacity(name),
      labels: labels(name),
      unlabelled: unnamed(name),
    })),
  };
}

/** @returns a function that gives the entries of one account, by its name */
function byAccount<Entry extends {readonly account: string}>(
  entries: readonly Entry[],
): (name: string) => Omit<Entry, 'account'>[] {
  const groups = Map.groupBy(entries, ({account}) => account);
  return (name) => (groups.get(name) ?? []).map(({account: _, ...entry}) => entry);
}

function renderAccount(settings: AccountSettings, context: PageContext): SafeHtml {
  return html`<section><h2>${settings.account}</h2>
    ${may(context, 'admin') ? renderSettingsForm(settings, context) : renderSettings(settings)}
    ${renderClosedDays(settings, context)}
    ${renderCapacity(settings, context)}
    ${renderLabels(settings, context)}</section>`;
}

const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

function renderSettings(settings: AccountSettings): SafeHtml {
  const {currency, workingHours, repeatVisitDays, onTimeGraceMinutes} = settings;
  return renderFacts([
    ['currency', currency ?? 'not set'],
    ['hours of a technician, Monday to Sunday', workingHours?.join(', ') ?? 'not set'],
    ['a repeat visit is within', `${repeatVisitDays ?? 30} days`],
    ['on time is within', `${onTimeGraceMinutes ?? 15} minutes`],
  ]);
}

function renderSettingsForm(settings: AccountSettings, context: PageContext): SafeHtml | string {
  const {account, currency, workingHours, repeatVisitDays, onTimeGraceMinutes} = settings;
  const renderNumber = (name: string, value: number | null | undefined, limit: string) =>
    html`<input name="${name}" inputmode="decimal" size="5" value="${value ?? ''}"
      placeholder="${limit}">`;
  return html`<div class="card settings">${renderForm(context, {
    to: '/settings',
    role: 'admin',
    label: 'Save',
    fixed: {account},
    fields: html`<fieldset class="hours"><legend>Hours that one technician works</legend>${days.map(
      (day, index) =>
        html`<label>${day} ${renderNumber(`hours${index}`, workingHours?.[index], '8')}</label>`,
    )}</fieldset>
      <label>Currency <input name="currency" value="${
        currency ?? ''
      }" size="5" maxlength="3" pattern="[A-Za-z]{3}" placeholder="USD"></label>
      <label>Repeat visit: within days ${renderNumber('repeat', repeatVisitDays, '30')}</label>
      <label>On time: within minutes ${renderNumber('grace', onTimeGraceMinutes, '15')}</label>`,
  })}</div>`;
}

function renderClosedDays({account, closedDays}: AccountSettings, context: PageContext): SafeHtml {
  const isAdmin = may(context, 'admin');
  return html`<h3>Closed days</h3>
    ${renderTable({
      caption: 'Days on which no one works',
      columns: ['day', 'why', ...(isAdmin ? ['steps'] : [])],
      rows: closedDays.map(({date, name}) => [
        date,
        name,
        ...(isAdmin
          ? [
              renderForm(context, {
                to: '/settings/open-day',
                role: 'admin',
                label: 'Remove',
                isPlain: true,
                fixed: {account, date},
              }),
            ]
          : []),
      ]),
      none: 'None is set.',
    })}
    ${renderForm(context, {
      to: '/settings/closed-day',
      role: 'admin',
      label: 'Add a closed day',
      isPlain: true,
      fixed: {account},
      fields: html`<label>Day <input type="date" name="date" required></label>
        <label>Why <input name="name" required maxlength="100" placeholder="Christmas"></label>`,
    })}`;
}

function renderCapacity({account, capacity}: AccountSettings, context: PageContext): SafeHtml {
  const isAdmin = may(context, 'admin');
  const actionPath = '/settings/capacity';
  return html`<h3>Technicians with their own hours</h3>
    ${renderTable({
      caption: 'Hours of technicians that differ, Monday to Sunday',
      columns: ['technician', 'hours, Monday to Sunday', ...(isAdmin ? ['steps'] : [])],
      rows: capacity.map(({employeeNumber, workingHours}) => [
        html`<a href="${linkTo(context, `/records/employees/${employeeNumber}`, {account})}">${
          employeeNumber
        }</a>`,
        workingHours.join(', '),
        ...(isAdmin
          ? [
              renderForm(context, {
                to: actionPath,
                role: 'admin',
                label: 'Remove',
                isPlain: true,
                fixed: {account, employee: employeeNumber},
              }),
            ]
          : []),
      ]),
      none: 'All work the hours of the account.',
    })}
    ${renderForm(context, {
      to: actionPath,
      role: 'admin',
      label: 'Set the hours of one',
      isPlain: true,
      fixed: {account},
      fields: html`<label>Number of the technician
          <input name="employee" required inputmode="numeric" size="6"></label>
        ${days.map(
          (day, index) =>
            html`<label>${day.slice(0, 3)} <input name="hours${index}" inputmode="decimal" size="3"
              aria-label="Hours on ${day}"></label>`,
        )}`,
    })}`;
}

function renderLabels(
  {account, labels, unlabelled}: AccountSettings,
  context: PageContext,
): SafeHtml {
  const isAdmin = may(context, 'admin');
  const actionPath = '/settings/label';
  const renderLabelForm = (kind: string, id: string, label: string) =>
    renderForm(context, {
      to: actionPath,
      role: 'admin',
      label: 'Save',
      isPlain: true,
      fixed: {account, kind, id},
      fields: html`<input name="label" value="${label}" maxlength="${longestLabel}"
        aria-label="Name of ${nameKind(kind)} ${id}">`,
    });
  const numbers = [...labels, ...unlabelled.map((unnamed) => ({...unnamed, label: ''}))];
  return html`<h3>Names for numbers</h3>
    <p>The service sends some things as a number alone, such as the source of a customer. Reports
      and answers show the name that you give it.${isAdmin ? ' An empty name removes it.' : ''}</p>
    ${renderTable({
      isStacked: true,
      caption: 'Numbers of the service, and their names',
      columns: [{head: 'what', isTitle: true}, {head: 'number', kind: 'number'}, 'name'],
      rows: numbers.map(({kind, id, label}) => [
        nameKind(kind),
        html`${id}`,
        isAdmin
          ? renderLabelForm(kind, id, label)
          : label === ''
            ? renderMark('quiet', 'not named')
            : label,
      ]),
      none: 'No record has such a number.',
    })}
    ${renderForm(context, {
      to: actionPath,
      role: 'admin',
      label: 'Name another',
      isPlain: true,
      fixed: {account},
      fields: html`<label>What <select name="kind">${labelKinds.map((kind) =>
        renderOption(kind, false, nameKind(kind)),
      )}</select></label>
        <label>Number <input name="id" required inputmode="numeric" size="6"></label>
        <label>Name <input name="label" required maxlength="${longestLabel}"></label>`,
    })}`;
}

function nameKind(kind: string): string {
  return kind.replaceAll('_', ' ');
}

/**
 * A field of a form, by the rule of the file of settings; null if it is empty.
 * @throws {UsageError}
 */
function readField<Value>(name: string, typed: string, rule: z.ZodType<Value>): Value | null {
  if (typed.trim() === '') return null;
  return checkField(name, {typed, value: Number(typed.trim().replace(',', '.')), rule});
}

interface Field<Value> {
  readonly typed: string;
  readonly value: unknown;
  readonly rule: z.ZodType<Value>;
}

/** @throws {UsageError} */
function checkField<Value>(name: string, {typed, value, rule}: Field<Value>): Value {
  const {data, error} = rule.safeParse(value);
  if (error === undefined) return data;
  const expected = error.issues[0]?.message ?? 'expected something else';
  throw new UsageError(`${name}: ${expected}, got ${JSON.stringify(typed)}`);
}

/**
 * The hours of all seven days, or null if none is given.
 * @throws {UsageError}
 */
function readHours(fields: Readonly<Record<string, unknown>>): readonly number[] | null {
  const typed = days.map((_, index) => String(fields[`hours${index}`] ?? ''));
  if (typed.every((text) => text.trim() === '')) return null;
  return typed.map((text, index) => readField(`hours on ${days[index]}`, text, hoursOfDay) ?? 0);
}

const textField = z.string().default('');
const longestLabel = 100;

/** Writes the settings of one account, in place of its earlier ones. */
export const saveSettings = defineAction({
  path: '/settings',
  name: 'settings.save',
  role: 'admin',
  form: z.looseObject({
    account: textField,
    currency: textField,
    repeat: textField,
    grace: textField,
  }),
  act: async (db, {seen, fields}) => {
    const {name: account, accountId} = findSeenAccount(seen, fields.account);
    const {currency, repeat, grace} = fields;
    const currencyCode = currency.trim().toUpperCase();
    const schemas = insight.shape;
    const after: InsightSettings = {
      currency:
        currencyCode === ''
          ? null
          : checkField('currency', {typed: currency, value: currencyCode, rule: schemas.currency}),
      workingHours: readHours(fields),
      repeatVisitDays: readField('repeat visit', repeat, schemas.repeat_visit_days),
      onTimeGraceMinutes: readField('on time', grace, schemas.on_time_grace_minutes),
    };
    const before = (await listInsightSettings(db)).find((settings) => settings.account === account);
    await writeInsightSettings(db, account, after);
    return {
      subject: `settings of ${account}`,
      accountId,
      before,
      after,
      message: `The settings of ${account} are saved.`,
      dropsReadings: true,
    };
  },
});

const closedDayForm = z.object({account: textField, date: calendarDay, name: textField});

export const addClosedDay = defineAction({
  path: '/settings/closed-day',
  name: 'settings.close-day',
  role: 'admin',
  form: closedDayForm,
  act: async (db, {seen, fields: {account: givenAccount, date, name: reason}}) => {
    const {name: account, accountId} = findSeenAccount(seen, givenAccount);
    const name = reason.trim();
    if (name === '') throw new UsageError('closed day: expected why it is closed');
    await writeClosedDay(db, {account, date, name});
    return {
      subject: `closed day ${date}`,
      accountId,
      after: {name},
      dropsReadings: true,
      message: `No one of ${account} works on ${date}: ${name}.`,
    };
  },
});

export const removeClosedDay = defineAction({
  path: '/settings/open-day',
  name: 'settings.open-day',
  role: 'admin',
  form: closedDayForm,
  act: async (db, {seen, fields: {account: givenAccount, date}}) => {
    const {name: account, accountId} = findSeenAccount(seen, givenAccount);
    await deleteClosedDay(db, {account, date});
    return {
      subject: `closed day ${date}`,
      accountId,
      after: {state: 'open'},
      dropsReadings: true,
      message: `${date} is a day like any other for ${account}.`,
    };
  },
});

const employeeForm = z.looseObject({account: textField, employee: textField});

/** Writes the hours of one technician; if none are given, those of the account count. */
export const saveCapacity = defineAction({
  path: '/settings/capacity',
  name: 'settings.capacity',
  role: 'admin',
  form: employeeForm,
  act: async (db, {seen, fields}) => {
    const {name: account, accountId} = findSeenAccount(seen, fields.account);
    const employeeNumber = fields.employee.trim();
    const hours = readHours(fields);
    const change = {path: [account, employeeNumber], before: null, after: hours ?? []};
    const [problem] = findUnknownEmployee(change, await listEmployeeNumbers(db));
    if (problem !== undefined) throw new UsageError(`technician: ${problem.text}`);
    const key = {account, employeeNumber};
    if (hours === null) await deleteCapacity(db, key);
    else await writeCapacity(db, {...key, workingHours: hours});
    return {
      subject: `hours of technician ${employeeNumber}`,
      accountId,
      dropsReadings: true,
      after: {workingHours: hours},
      message:
        hours === null
          ? `Technician ${employeeNumber} works the hours of ${account}.`
          : `Technician ${employeeNumber} works ${hours.join(', ')} hours.`,
    };
  },
});

/** Names a number of the service; an empty name removes the present one. */
export const saveLabel = defineAction({
  path: '/settings/label',
  name: 'settings.label',
  role: 'admin',
  form: z.object({account: textField, kind: textField, id: textField, label: textField}),
  act: async (db, {seen, fields}) => {
    const {name: account, accountId} = findSeenAccount(seen, fields.account);
    const [id, label] = [fields.id.trim(), fields.label.trim()];
    if (label.length > longestLabel)
      throw new UsageError(
        `name: expected at most ${longestLabel} characters, got ${label.length}`,
      );
    const kind = labelKinds.find((candidate) => candidate === fields.kind);
    if (kind === undefined || !isId(id))
      throw new UsageError(
        `label: expected a number of ${labelKinds.map(nameKind).join(', ')}, got ` +
          `${JSON.stringify(`${fields.kind} ${fields.id}`)}`,
      );
    const subject = `${nameKind(kind)} ${id}`;
    if (label === '') await deleteLabel(db, {account, kind, id});
    else await writeLabel(db, {account, kind, id, label});
    return {
      subject: `name of ${subject}`,
      accountId,
      after: {label},
      dropsReadings: true,
      message:
        label === '' ? `The ${subject} has no name now.` : `The ${subject} is called ${label} now.`,
    };
  },
});
