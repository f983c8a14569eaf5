// The section of the file of settings about the weekly report by e-mail. The mail server is never
// in the file: it is in the environment of the worker.

import {z} from 'zod';
import {isMailbox, shortName, shortNameText} from '../core/names.ts';
import {
  deleteReportList,
  listReportListSettings,
  writeReportList,
} from '../delivery/report-lists.ts';
import {known, type Section} from './section.ts';
import {accountName, removable} from './values.ts';

const days = [
  ...(['monday', 'tuesday', 'wednesday', 'thursday'] as const),
  ...(['friday', 'saturday', 'sunday'] as const),
] as const;
const usualDay = days[0];
const usualAt = '06:00';

const addresses = 'expected addresses of e-mail, such as [owner@example.com]';
const clock = 'expected a time of day, such as 07:30';
const dayText = `expected one of ${days.join(', ')}`;
const server =
  'a mail server is never in this file: FIELDMIRROR_SMTP_URL in the environment of start';

const list = z.strictObject({
  to: z
    .array(z.string(addresses).refine(isMailbox, addresses), addresses)
    .min(1, addresses)
    .max(100, 'expected at most 100 addresses')
    .refine((all) => new Set(all).size === all.length, 'expected each address once')
    .readonly()
    .describe('The addresses; each gets a mail of its own.'),
  account: accountName.exactOptional().describe('The only account reported. Default: all.'),
  day: z
    .enum(days, dayText)
    .exactOptional()
    .describe(`The day on which the week before is reported. Default: ${usualDay}.`),
  at: z
    .string(clock)
    .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, clock)
    .exactOptional()
    .describe(`The time of that day, in the zone of the account. Default: ${usualAt}.`),
});

export const reportsSection: Section<z.infer<typeof list>> = {
  name: 'reports',
  about: [
    'Who gets the weekly report by e-mail, by name. The mail server is never in this file: the',
    'worker has it in FIELDMIRROR_SMTP_URL.',
  ],
  schema: z.record(z.string().regex(shortName, shortNameText), removable(list)),
  depth: 1,
  advice: Object.fromEntries(['smtp', 'server', 'password'].map((key) => [key, server])),
  read: async (db) =>
    (await listReportListSettings(db)).map(({name, addresses: to, account, weekday, at}) => ({
      path: [name],
      entry: known({to, account, day: days[weekday - 1] ?? usualDay, at}),
    })),
  defaultsOf: () => ({day: usualDay, at: usualAt}),
  write: (db, [name = ''], {to, account = null, day = usualDay, at = usualAt}) =>
    writeReportList(db, {name, addresses: to, account, weekday: days.indexOf(day) + 1, at}),
  remove: (db, [name = '']) => deleteReportList(db, name),
};
