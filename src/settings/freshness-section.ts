import {z} from 'zod';
import {listAccounts} from '../accounts/accounts.ts';
import type {Queryable} from '../postgres/database.ts';
import {allStreams} from '../streams/all.ts';
import type {StreamName} from '../streams/stream.ts';
import {wholeList} from '../streams/windows.ts';
import {estimatePass} from '../sweeps/freshness.ts';
import {
  deleteSchedule,
  isOfFreshness,
  listScheduleSettings,
  nameFreshness,
  type ScheduleSetting,
  writeSchedule,
} from '../sweeps/schedules.ts';
import {listUsualCosts} from '../sweeps/story.ts';
import {formatInterval, interval, intervalMs} from './interval.ts';
import type {Problem, Prospect, Section} from './section.ts';
import {listChanged} from './setting-entries.ts';
import {accountName} from './setting-values.ts';
import {toTree} from './settings-tree.ts';

const leastMs = 60_000;
const tooShort = 'expected an interval of a minute or more, such as 1h or 15m';

const freshness = interval.refine((text) => intervalMs(text) >= leastMs, tooShort);

export const freshnessSection: Section = {
  name: 'freshness',
  about: [
    'How old what is known of a stream may become during the day, by account and stream: its whole list is read once so often.',
    'Where nothing is set, the full sweeps by night alone read the whole list.',
  ],
  schema: z.record(
    accountName,
    z.strictObject(
      Object.fromEntries(
        allStreams.map(({name}) => [
          name,
          freshness
            .nullable()
            .exactOptional()
            .describe(
              `How often the whole list of ${name} is read, such as 1h. Each time costs a request a page.`,
            ),
        ]),
      ),
    ),
  ),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listScheduleSettings(db)).filter(isOfFreshness).map(({account, stream, everyMs}) => ({
        path: [account, stream],
        value: formatInterval(everyMs),
      })),
    ),
  check: async (db, prospect) => await findTooOften(db, prospect),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<string>(change, 2)) {
      const [account = '', stream = ''] = path;
      const name = nameFreshness(stream);
      if (after === null) await deleteSchedule(db, {account, name});
      else await writeSchedule(db, {...toSetting(account, stream, after), name}, {isDueNow: true});
    }
  },
};

function toSetting(account: string, stream: string, every: string): Omit<ScheduleSetting, 'name'> {
  // The path has been checked: its second key is a stream.
  return {
    account,
    stream: stream as StreamName,
    windowName: wholeList,
    everyMs: intervalMs(every),
    at: null,
  };
}

/**
 * A pass that takes longer than half its interval hardly ends before the next: such a promise is
 * not kept.
 */
async function findTooOften(db: Queryable, {before, after}: Prospect): Promise<Problem[]> {
  const changed = listChanged<string>({before, after}, 2);
  if (changed.length === 0) return [];
  const accounts = await listAccounts(db);
  const costs = await listUsualCosts(
    db,
    accounts.map(({accountId}) => accountId),
  );
  return changed.flatMap(({path, after: every}) => {
    const [name, stream = ''] = path;
    const accountId = accounts.find((account) => account.name === name)?.accountId;
    const pass = estimatePass(
      costs.filter((cost) => cost.accountId === accountId),
      stream,
    );
    if (every === null || pass === null || pass.seconds * 2_000 <= intervalMs(every)) return [];
    const least = formatInterval(Math.ceil((pass.seconds * 2_000) / leastMs) * leastMs);
    const text = `expected ${least} or more, for one pass over ${stream} takes ${Math.ceil(pass.seconds)} seconds, got ${every}`;
    return [{path, text}];
  });
}
