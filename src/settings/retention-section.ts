import {z} from 'zod';
import {
  type RetentionKind,
  readRetention,
  retentionKinds,
  setRetention,
} from '../retention/retention.ts';
import type {Section} from './section.ts';
import {listChanged} from './setting-entries.ts';
import {toTree} from './settings-tree.ts';

const forever = 'forever';

export const retentionSection: Section = {
  name: 'retention',
  about: [
    'How long what grows with time is kept, in whole days such as 90d, or forever. What is older is removed, and does not come back.',
    'A value of null is the default again.',
  ],
  schema: z.strictObject(
    Object.fromEntries(retentionKinds.map((kind) => [kind.name, shapeOf(kind)])),
  ),
  isByAccount: false,
  read: async (db) =>
    toTree(
      (await readRetention(db)).kinds.map(({kind, days}) => ({path: [kind], value: show(days)})),
    ),
  defaultsOf: () =>
    toTree(retentionKinds.map(({name, defaultDays}) => ({path: [name], value: show(defaultDays)}))),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<string>(change, 1)) {
      const kind = retentionKinds.find(({name}) => name === path[0]);
      if (kind === undefined) continue;
      await setRetention(db, kind.name, after === null ? kind.defaultDays : readDays(after));
    }
  },
};

function shapeOf({leastDays, defaultDays, about, hasEnd = false}: RetentionKind) {
  const expected = `expected whole days from ${leastDays}d on, such as 90d${hasEnd ? '' : `, or ${forever}`}`;
  return z
    .string(expected)
    .regex(hasEnd ? /^[1-9]\d{0,4}d$/ : /^(?:[1-9]\d{0,4}d|forever)$/, expected)
    .refine((text) => (readDays(text) ?? leastDays) >= leastDays, expected)
    .nullable()
    .exactOptional()
    .describe(`${about} Default: ${show(defaultDays)}; least: ${leastDays}d.`);
}

function show(days: number | null): string {
  return days === null ? forever : `${days}d`;
}

/** @returns null for `forever` */
function readDays(text: string): number | null {
  return text === forever ? null : Number.parseInt(text, 10);
}
