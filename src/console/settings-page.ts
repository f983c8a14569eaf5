// What the service does not know of an account and a person may set: hours, currency, closed days.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import {
  type ClosedDay,
  deleteClosedDay,
  type InsightSettings,
  listClosedDays,
  listInsightSettings,
  writeClosedDay,
  writeInsightSettings,
} from '../accounts/settings.ts';
import {UsageError} from '../core/errors.ts';
import {findSeen} from './access.ts';
import {defineAction, definePage, type Look, linkTo, may} from './page.ts';
import {drawFacts, drawForm, renderTable} from './render.ts';

interface AccountSettings extends InsightSettings {
  readonly account: string;
  readonly closedDays: readonly Omit<ClosedDay, 'account'>[];
}

interface Story {
  readonly accounts: readonly AccountSettings[];
}

const nothingSet: InsightSettings = {
  currency: null,
  workingHours: null,
  repeatVisitDays: null,
  onTimeGraceMinutes: null,
};

export const settingsPage = definePage<Story>({
  path: '/settings',
  section: '/settings',
  moving: [],
  read: async ({db, accounts}) => {
    const held = await listInsightSettings(db);
    const closed = await listClosedDays(db);
    return {
      accounts: accounts.map(({name}) => ({
        ...nothingSet,
        ...held.find(({account}) => account === name),
        account: name,
        closedDays: closed
          .filter(({account}) => account === name)
          .map(({date, name: why}) => ({date, name: why})),
      })),
    };
  },
  title: () => 'Settings',
  draw: ({accounts}, look) => html`
    <p>What the service does not know of your business. A figure that needs a setting is left
      out until it is set.</p>
    ${accounts.map((settings) => drawAccount(settings, look))}
    ${accounts.length === 0 ? html`<p class="none">No account is mirrored yet.</p>` : ''}
    <p class="quiet">Settings of the program are on the page
      <a href="${linkTo(look, '/health')}">Health</a>.</p>`,
  elsewhere: () => ({command: 'fieldmirror config export', sql: 'SELECT * FROM mart.settings;'}),
});

function drawAccount(settings: AccountSettings, look: Look): SafeHtml {
  return html`<section><h2>${settings.account}</h2>
    ${may(look, 'admin') ? drawSettingsForm(settings, look) : drawSettings(settings)}
    ${drawClosedDays(settings, look)}</section>`;
}

const days = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

function drawSettings(settings: AccountSettings): SafeHtml {
  const {currency, workingHours, repeatVisitDays, onTimeGraceMinutes} = settings;
  return drawFacts([
    ['currency', currency ?? 'not set'],
    ['hours of a technician, Monday to Sunday', workingHours?.join(', ') ?? 'not set'],
    ['a repeat visit is within', `${repeatVisitDays ?? 30} days`],
    ['on time is within', `${onTimeGraceMinutes ?? 15} minutes`],
  ]);
}

function drawSettingsForm(settings: AccountSettings, look: Look): SafeHtml | string {
  const {account, currency, workingHours, repeatVisitDays, onTimeGraceMinutes} = settings;
  const number = (name: string, value: number | null | undefined, limit: string) =>
    html`<input name="${name}" inputmode="decimal" size="5" value="${value ?? ''}"
      placeholder="${limit}">`;
  return html`<div class="card settings">${drawForm(look, {
    to: '/settings',
    role: 'admin',
    label: 'Save',
    fixed: {account},
    fields: html`<label>Currency <input name="currency" value="${
      currency ?? ''
    }" size="5" maxlength="3" pattern="[A-Za-z]{3}" placeholder="USD"></label>
      <fieldset><legend>Hours that one technician works</legend>${days.map(
        (day, at) => html`<label>${day} ${number(`hours${at}`, workingHours?.[at], '8')}</label>`,
      )}</fieldset>
      <label>Repeat visit: within days ${number('repeat', repeatVisitDays, '30')}</label>
      <label>On time: within minutes ${number('grace', onTimeGraceMinutes, '15')}</label>`,
  })}</div>`;
}

function drawClosedDays({account, closedDays}: AccountSettings, look: Look): SafeHtml {
  const isAdmin = may(look, 'admin');
  return html`<h3>Closed days</h3>
    ${renderTable({
      caption: 'Days on which nobody works',
      columns: ['day', 'why', ...(isAdmin ? ['steps'] : [])],
      rows: closedDays.map(({date, name}) => [
        date,
        name,
        ...(isAdmin
          ? [
              drawForm(look, {
                ...{to: '/settings/open-day', role: 'admin', label: 'Remove', isPlain: true},
                fixed: {account, date},
              }),
            ]
          : []),
      ]),
      none: 'None is set.',
    })}
    ${drawForm(look, {
      ...{to: '/settings/closed-day', role: 'admin', label: 'Add a closed day', isPlain: true},
      fixed: {account},
      fields: html`<label>Day <input type="date" name="date" required></label>
        <label>Why <input name="name" required maxlength="100" placeholder="Christmas"></label>`,
    })}`;
}

/** A number of a form; null where it is left empty. @throws {UsageError} */
function readNumber(name: string, typed: string, [least, most]: readonly [number, number]) {
  if (typed.trim() === '') return null;
  const number = Number(typed.trim().replace(',', '.'));
  if (number >= least && number <= most) return number;
  const got = JSON.stringify(typed);
  throw new UsageError(`${name}: expected a number from ${least} to ${most}, got ${got}`);
}

function readWhole(name: string, typed: string, bounds: readonly [number, number]) {
  const number = readNumber(name, typed, bounds);
  if (number === null || Number.isInteger(number)) return number;
  throw new UsageError(`${name}: expected a whole number, got ${JSON.stringify(typed)}`);
}

/** Either all seven, or none. @throws {UsageError} */
function readHours(typed: readonly string[]): number[] | null {
  if (typed.every((text) => text.trim() === '')) return null;
  return typed.map((text, at) => readNumber(`hours on ${days[at]}`, text, [0, 24]) ?? 0);
}

const text = z.string().default('');

/** Writes the settings of one account, in place of those that it had. */
export const saveSettings = defineAction({
  path: '/settings',
  name: 'settings.save',
  role: 'admin',
  form: z.looseObject({account: text, currency: text, repeat: text, grace: text}),
  act: async (db, {seen, given}) => {
    const {name: account, accountId} = findSeen(seen, given.account);
    const currency = given.currency.trim().toUpperCase();
    if (!/^([A-Z]{3})?$/.test(currency))
      throw new UsageError(
        `currency: expected three letters, such as EUR, got ${JSON.stringify(given.currency)}`,
      );
    const after: InsightSettings = {
      currency: currency === '' ? null : currency,
      workingHours: readHours(days.map((_, at) => String(given[`hours${at}`] ?? ''))),
      repeatVisitDays: readWhole('repeat visit', given.repeat, [1, 365]),
      onTimeGraceMinutes: readWhole('on time', given.grace, [0, 1440]),
    };
    const before = (await listInsightSettings(db)).find((held) => held.account === account);
    await writeInsightSettings(db, account, after);
    return {
      ...{subject: `settings of ${account}`, accountId, before, after},
      said: `The settings of ${account} are saved.`,
      dropsReadings: true,
    };
  },
});

const closedDay = z.object({account: text, date: z.iso.date('expected a day'), name: text});

export const addClosedDay = defineAction({
  path: '/settings/closed-day',
  name: 'settings.close-day',
  role: 'admin',
  form: closedDay,
  act: async (db, {seen, given: {account: asked, date, name: why}}) => {
    const {name: account, accountId} = findSeen(seen, asked);
    const name = why.trim();
    if (name === '') throw new UsageError('closed day: expected why it is closed');
    await writeClosedDay(db, {account, date, name});
    return {
      ...{subject: `closed day ${date}`, accountId, after: {name}, dropsReadings: true},
      said: `Nobody of ${account} works on ${date}: ${name}.`,
    };
  },
});

export const removeClosedDay = defineAction({
  path: '/settings/open-day',
  name: 'settings.open-day',
  role: 'admin',
  form: closedDay,
  act: async (db, {seen, given: {account: asked, date}}) => {
    const {name: account, accountId} = findSeen(seen, asked);
    await deleteClosedDay(db, {account, date});
    return {
      ...{subject: `closed day ${date}`, accountId, after: {state: 'open'}, dropsReadings: true},
      said: `${date} is a day like any other for ${account}.`,
    };
  },
});
