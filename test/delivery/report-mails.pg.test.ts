// The weekly report by e-mail: a mail of its own for each address, at least once, and what was told
// is kept by delivery.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {findReportProblems} from '../../src/alerts/problems.ts';
import {createLogger} from '../../src/core/log.ts';
import {Secret} from '../../src/core/secret.ts';
import {mailReports} from '../../src/delivery/report-mails.ts';
import {listReportLists} from '../../src/delivery/targets.ts';
import {openPool} from '../../src/postgres/database.ts';
import {type Arrived, openMailReceiver, type TestReceiver} from '../support/alert-receivers.ts';
import {runCommand} from '../support/command.ts';
import {type DeliveryPlace, openDeliveryPlace} from './delivery-place.ts';

let place: DeliveryPlace;
let mail: TestReceiver;
let logged: Record<string, unknown>[];
const anna = 'anna@example.com';
const bo = 'bo@example.com';
/** The time of this week has passed, whatever the day. */
const owners = {to: [anna, bo], day: 'monday', at: '00:00'};

beforeAll(async () => {
  place = await openDeliveryPlace();
  await place.query(
    `INSERT INTO mart.settings (account_key, currency) SELECT account_id, 'USD'
      FROM sync.accounts`,
  );
});
afterAll(() => place?.close());
beforeEach(async () => {
  logged = [];
  mail = await openMailReceiver();
  expect(await place.apply({reports: {owners}})).toMatchObject({code: 0});
});
afterEach(async () => {
  await place.query('DELETE FROM sync.report_lists');
  await place.query('DELETE FROM mart.reported');
  await mail.close();
});

/** One round of a worker. @param more.isRole - with no more rights than the role of workers */
async function round(
  more: {
    readonly isRole?: boolean;
    readonly smtpUrl?: Secret | null;
    readonly consoleUrl?: URL;
  } = {},
): Promise<void> {
  const {smtpUrl = new Secret(mail.url), isRole = true, consoleUrl = null} = more;
  const url = new URL(String(place.env.DATABASE_URL));
  if (isRole) url.searchParams.set('options', '-c role=fieldmirror_worker');
  const pool = openPool(url.href, {max: 4, applicationName: 'test'});
  const log = createLogger({
    level: 'info',
    secrets: [],
    destination: {write: (line: string) => void logged.push(JSON.parse(line))},
  });
  const means = {smtpUrl, consoleUrl, allowsHttp: false, onSecret: () => {}};
  await mailReports({pool, log, ...means}).finally(() => pool.end());
}

/** Time passes for the mails: leases lapse, and tries that wait are due. */
const pass = (span: string) =>
  place.query(
    `UPDATE sync.report_mails SET due_at = due_at - $1::interval,
       lease_until = lease_until - $1::interval, made_at = made_at - $1::interval`,
    [span],
  );

/** The parts of a mail, without the marks between them, which are others in each try. */
function partsOf({headers, body}: Arrived) {
  const [, mark = ''] = /boundary="([^"]+)"/.exec(String(headers['content-type'])) ?? [];
  const [, text = '', html = ''] = body.split(`--${mark}`).map(readPart);
  return {id: headers['message-id'], subject: readWords(String(headers.subject)), text, html};
}

function readPart(part: string): string {
  const [head = '', ...rest] = part.split('\r\n\r\n');
  const body = rest.join('\r\n\r\n');
  if (/base64/.test(head)) return Buffer.from(body, 'base64').toString();
  return readQuoted(body.replaceAll('=\r\n', ''));
}

function readQuoted(text: string): string {
  const bytes = text.replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString();
}

function readWords(subject: string): string {
  return subject
    .replaceAll(/\?=\s+=\?/g, '?==?')
    .replaceAll(/=\?UTF-8\?Q\?(.*?)\?=/g, (_, text: string) =>
      readQuoted(text.replaceAll('_', ' ')),
    );
}

const states = () =>
  place.query('SELECT address, state, attempts, repeats FROM sync.report_mails ORDER BY address');

test('each address gets one mail with the figures, even if several workers run', async () => {
  await Promise.all([round(), round(), round()]);
  await round();
  expect(mail.arrived.map(({path}) => path).toSorted()).toEqual([anna, bo]);
  const {rows} = await place.pool.query(
    `SELECT name, trim_scale(revenue)::text AS revenue FROM mart.ask_weeks AS weeks
       JOIN mart.dim_account USING (account_key) ORDER BY weeks.week DESC LIMIT 1`,
  );
  for (const {subject, text, html} of mail.arrived.map(partsOf)) {
    expect(subject).toMatch(
      new RegExp(`^Weekly report: ${rows[0].name}, week of \\S+, revenue \\S+ USD [▲▼=]`),
    );
    for (const part of [text, html]) {
      const plain = part.replaceAll(/<[^>]+>/g, ' ').replaceAll(',', '');
      expect(plain).toContain('Revenue (USD)');
      expect(plain).toContain(rows[0].revenue);
      expect(plain).toMatch(/this week\W+(change|beside)\W+the week before/);
      expect(plain).toContain('The ten largest debtors');
    }
    expect(html).not.toMatch(/<script|<svg|https?:/);
  }
  // No copy of the report stays behind.
  expect(
    await place.query(
      'SELECT count(body_text)::integer + count(body_html)::integer AS held FROM sync.report_mails',
    ),
  ).toEqual([{held: 0}]);
});

test('a mail that the server refuses is sent again unchanged, and status reports it', async () => {
  mail.manners = ({path}, at) => (path === anna && at <= 8 ? 450 : undefined);
  for (let tries = 1; tries <= 3; tries++) {
    await round();
    // Not before its time.
    await round();
    expect(await states()).toEqual([
      {address: anna, state: 'due', attempts: tries, repeats: 0},
      {address: bo, state: 'sent', attempts: 1, repeats: 0},
    ]);
    await pass('2 hours');
  }
  const {code, stdout} = await runCommand(['status'], place.env);
  const told = stdout.replaceAll(/\s+/g, ' ');
  expect(code).toBe(1);
  expect(told).toMatch(/reports owners: 2 addresses, last sent \S+ \S+ ago, 1 to be sent/);
  expect(told).toMatch(
    /weekly reports to owners do not arrive, for .*: expected it to take .* 450/,
  );
  expect(told).toContain('explain A26');
  expect((await runCommand(['doctor'], place.env)).stdout).toMatch(
    /^warning +reports: weekly reports to owners do not arrive/m,
  );
  mail.manners = () => undefined;
  await round();
  expect((await states()).map(({state}) => state)).toEqual(['sent', 'sent']);
  const tries = mail.arrived.filter(({path}) => path === anna).map(partsOf);
  expect(tries).toHaveLength(4);
  for (const again of tries) expect(again).toEqual(tries[0]);
  expect((await runCommand(['doctor'], place.env)).stdout).toMatch(/^good +reports: owners: 2 a/m);
  expect(logged.filter(({event}) => event === 'report.postponed')).toHaveLength(3);
});

test('a mail that is refused ninety times is given up and counted as given up', async () => {
  mail.manners = ({path}) => (path === anna ? 550 : undefined);
  await round();
  await place.query('UPDATE sync.report_mails SET attempts = 89');
  await pass('2 hours');
  await round();
  expect((await states())[0]).toMatchObject({address: anna, state: 'failed'});
  expect(await listReportLists(place.pool)).toMatchObject([{givenUp: 1, waiting: 0}]);
  await pass('1 day');
  await round();
  expect(mail.arrived.filter(({path}) => path === anna)).toHaveLength(2);
});

test('a mail is sent again if the worker is killed before it records the sending', async () => {
  await place.apply({reports: {owners: {...owners, to: [anna]}}});
  const worker = spawn(
    process.execPath,
    [join(import.meta.dirname, '..', 'support', 'report-worker.ts')],
    {
      env: {PATH: process.env.PATH, DATABASE_URL: place.env.DATABASE_URL, SMTP_URL: mail.url},
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  mail.manners = (_arrived, at) => {
    if (at === 1) worker.kill('SIGKILL');
    return undefined;
  };
  await once(worker, 'exit');
  await round();
  expect(mail.arrived).toHaveLength(1);
  await pass('2 minutes');
  await round();
  await round();
  const [first, again, ...more] = mail.arrived.map(partsOf);
  expect(more).toEqual([]);
  expect(again).toEqual(first);
  expect(await states()).toEqual([{address: anna, state: 'sent', attempts: 2, repeats: 1}]);
  expect(logged.filter(({event}) => event === 'report.sent_again')).toHaveLength(1);
  expect((await runCommand(['status'], place.env)).stdout).toMatch(/1 may have arrived twice/);
});

test('viewing a report or writing it to a file removes no news from the next mail', async () => {
  await round();
  // What was told of every week turns out to be otherwise.
  await place.query(`UPDATE mart.reported SET value = value + 1 WHERE metric = 'revenue'`);
  for (const form of [[], ['--html'], ['--to', join(place.folder, 'week.html')]])
    expect(await runCommand(['report', ...form], place.env)).toMatchObject({code: 0});
  // A week has passed.
  await place.query('DELETE FROM sync.report_mails');
  await round();
  const news = mail.arrived.map(partsOf);
  expect(news).toHaveLength(4);
  for (const {text, html} of news.slice(2)) {
    expect(text).toMatch(/Revenue, week of \S+: reported as/);
    // Folded from the sixth on.
    expect(html).toMatch(/<details><summary>\d+ more<\/summary>/);
  }
  // What was told is no news the week after.
  await place.query('DELETE FROM sync.report_mails');
  await round();
  expect(mail.arrived.slice(4).map((one) => partsOf(one).text.includes('reported as'))).toEqual([
    false,
    false,
  ]);
});

test('missed weeks get their report later, the earliest first and each only once', async () => {
  await place.apply({reports: {owners: {...owners, to: [anna]}}});
  await round();
  const weeks = async () =>
    (
      await place.query<{week: string}>(
        'SELECT week::text AS week FROM sync.report_mails ORDER BY mail_id',
      )
    ).map(({week}) => week);
  const [last = ''] = await weeks();
  const before = (weeks: number) =>
    new Date(Date.parse(last) - weeks * 7 * 86_400_000).toISOString().slice(0, 10);
  // The process was down for three weeks.
  await place.query('UPDATE sync.report_mails SET week = week - 21');
  await Promise.all([round(), round()]);
  await round();
  expect(await weeks()).toEqual([before(3), before(2), before(1), last]);
  expect(mail.arrived).toHaveLength(4);
  const {rows} = await place.pool.query(
    `SELECT week::text AS week, trim_scale(revenue)::text AS revenue FROM mart.ask_weeks
      WHERE week = ANY ($1::date[]) ORDER BY week`,
    [[before(2), before(1), last]],
  );
  for (const {week, revenue} of rows) {
    const text = mail.arrived
      .slice(1)
      .map(partsOf)
      .find(({subject}) => subject.includes(`week of ${week}`))?.text;
    expect(text?.replaceAll(',', '')).toMatch(new RegExp(`Revenue \\(USD\\)[ │]+${revenue} `));
  }
  // Who was away for longer gets the last four weeks.
  await place.query('DELETE FROM sync.report_mails WHERE week > $1', [before(3)]);
  await place.query('UPDATE sync.report_mails SET week = week - 70');
  await round();
  expect((await weeks()).slice(1)).toEqual([before(3), before(2), before(1), last]);
});

test('a mail links to the answers and the records in the console', async () => {
  await place.apply({reports: {owners: {...owners, to: [anna]}}});
  await round({consoleUrl: new URL('https://mirror.example.com/')});
  const [{text, html} = {text: '', html: ''}] = mail.arrived.map(partsOf);
  const links = [...html.matchAll(/href="([^"]+)"/g)].map(([, link = '']) => link);
  const account = String((await place.query('SELECT name FROM sync.accounts'))[0]?.name);
  const at = (path: string) =>
    `https://mirror.example.com${path}?account=${encodeURIComponent(account)}`;
  const debtors = await place.query<{key: string}>(
    `SELECT customer_key AS key FROM mart.ask_debtors AS debtor ORDER BY debtor.owed DESC,
       customer_key LIMIT 10`,
  );
  const late = await place.query<{key: string}>(
    `SELECT job_key AS key FROM mart.ask_overdue AS late ORDER BY late.days_late DESC,
       late.job_number LIMIT 10`,
  );
  expect(debtors.length + late.length).toBeGreaterThan(10);
  expect(links).toEqual([
    at('/business/ask/debtors'),
    ...debtors.map(({key}) => at(`/records/customers/row-${key}`)),
    at('/business/ask/unbilled'),
    at('/business/ask/overdue'),
    ...late.map(({key}) => at(`/records/jobs/row-${key}`)),
    at('/business'),
  ]);
  expect(text).toContain(at('/business'));
});

describe('a missing report', () => {
  const hour = 3_600_000;
  const find = async (hours: number, sendsMail = true) => {
    const workers = [{isAlive: true, sendsMail}] as unknown as Parameters<
      typeof findReportProblems
    >[1]['workers'];
    const now = new Date(Date.now() + hours * hour).toISOString();
    return findReportProblems(await listReportLists(place.pool), {workers}, now);
  };

  test('is reported with the reason, and sent when its jobs are certified again', async () => {
    await round();
    expect(await find(0)).toEqual([]);
    await place.query(
      `UPDATE sync.report_mails SET made_at = made_at - interval '8 days', week = week - 7`,
    );
    await place.query(
      `UPDATE sync.sweeps SET started_at = started_at - interval '3 days',
        ended_at = ended_at - interval '3 days'`,
    );
    await round();
    expect(mail.arrived).toHaveLength(2);
    expect(await find(0)).toMatchObject([
      {
        kind: 'report-unsent',
        subject: 'owners',
        text: expect.stringMatching(
          / is due for .*: its jobs were last proven complete 3 days ago/,
        ),
      },
    ]);
    await place.query(
      `UPDATE sync.sweeps SET started_at = started_at + interval '3 days',
        ended_at = ended_at + interval '3 days'`,
    );
    await round();
    expect(await find(0)).toEqual([]);
    expect(mail.arrived).toHaveLength(4);
  });

  test('is reported at once if no worker has a mail server, and sent later', async () => {
    await round({smtpUrl: null});
    expect((await states()).map(({state}) => state)).toEqual(['due', 'due']);
    expect(await find(0, false)).toMatchObject([
      {text: expect.stringContaining('no worker has FIELDMIRROR_SMTP_URL')},
    ]);
    await round();
    expect(mail.arrived).toHaveLength(2);
  });
});

test('a report is not due before its day and time in the time zone of the account', async () => {
  // Where it is about noon, a minute more or less is the same day.
  await place.query(
    `UPDATE sync.accounts SET time_zone = (SELECT name FROM pg_timezone_names
       WHERE name LIKE 'Etc/GMT%' AND extract(hour FROM now() AT TIME ZONE name) = 12 LIMIT 1)`,
  );
  await place.query(
    `UPDATE sync.report_lists SET (weekday, at) = (SELECT extract(isodow FROM ahead), ahead::time
       FROM (SELECT now() AT TIME ZONE time_zone + interval '1 minute' AS ahead
               FROM sync.accounts LIMIT 1) AS soon)`,
  );
  await round();
  expect(mail.arrived).toEqual([]);
  await place.query(`UPDATE sync.report_lists SET at = at - interval '2 minutes'`);
  await round();
  expect(mail.arrived).toHaveLength(2);
});

test('an address that is removed from the list gets no more tries', async () => {
  mail.manners = () => 450;
  await round();
  mail.manners = () => undefined;
  expect(await place.apply({reports: {owners: {...owners, to: [bo]}}})).toMatchObject({code: 0});
  await pass('2 hours');
  await round();
  expect(mail.arrived.slice(2).map(({path}) => path)).toEqual([bo]);
  const shown = await runCommand(['config', 'export'], place.env);
  expect(shown.stdout).toMatch(/reports:\s+owners:\s+to: \[bo@example\.com\]/);
});
