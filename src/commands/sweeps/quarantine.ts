// The verb `quarantine`: records that could not be read, the flaw of each, and another try by its number.

import type {Config} from '../../base/config.ts';
import {UsageError} from '../../base/errors.ts';
import {findStream} from '../../streams/all.ts';
import {formatAgo} from '../../views/format.ts';
import {listAccounts} from '../../warehouse/accounts/accounts.ts';
import type {Queryable} from '../../warehouse/postgres/database.ts';
import {listQuarantine, type QuarantineEntry, readQuarantine} from '../../warehouse/sweeps/quarantine.ts';
import type {Sweep} from '../../warehouse/sweeps/sweep.ts';
import {chooseAccount, requireActive} from '../accounts/choose-account.ts';
import {requireOpened} from '../accounts/served-accounts.ts';
import {watchProgress} from '../terminal/progress.ts';
import {drawTable, print} from '../terminal/report.ts';
import {wrap} from '../terminal/wrap.ts';
import {withWarehouse} from '../warehouse.ts';
import {withWorld} from '../world.ts';
import {runHere} from './sync.ts';
import {askForSweep, watchSweeps} from './watch-sweeps.ts';

export interface ListOptions {
  readonly stream?: string;
  readonly account?: string;
  readonly limit: number;
  readonly json: boolean;
}

/** The outcome of another try. */
interface Retried {
  readonly quarantineId: string;
  readonly outcome: 'read' | 'gone' | 'still-bad' | 'not-answered';
  readonly reason: string | null;
}

const reasonWidth = 60;

/** The records in quarantine, the latest first. @returns the exit code */
export async function list(config: Config, options: ListOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    const stream = options.stream === undefined ? null : findStream(options.stream).name;
    const account = options.account === undefined ? null : await chooseAccount(warehouse, options.account);
    const {limit} = options;
    const entries = await listQuarantine(pool, {accountId: account?.accountId ?? null, stream, limit});
    const hasSeveral = (await listAccounts(pool)).length > 1;
    print(options.json, {json: {quarantine: entries}, text: drawEntries(entries, hasSeveral)});
    return 0;
  });
}

/** One record: its flaw, and the XML that the service sent, without secrets. @returns the exit code */
export async function show(config: Config, id: string, options: {readonly json: boolean}): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const entry = await findEntry(pool, id);
    print(options.json, {json: {entry}, text: drawEntry(entry)});
    return 0;
  });
}

/**
 * Asks for records by their numbers now, in this process.
 * @returns the exit code: 1 when one of them still cannot be read
 * @throws {UsageError} there is no such entry, or it has no number to ask by
 */
export async function retry(
  config: Config,
  ids: readonly string[],
  {json, signal}: {readonly json: boolean; readonly signal: AbortSignal},
): Promise<number> {
  return await withWorld(config, async (world) => {
    const entries: Numbered[] = [];
    for (const id of ids) entries.push(requireNumber(await findEntry(world.pool, id)));
    for (const name of new Set(entries.map(({account}) => account)))
      await requireOpened(world, requireActive(await chooseAccount(world, name)));
    const progress = watchProgress(json);
    const watch = {progress, signal, run: runHere(world, signal)};
    const retried: Retried[] = [];
    for (const {quarantineId, accountId, stream, number} of entries) {
      const asked = {accountId, stream, mode: 'record', recordNumber: number} as const;
      const sweeps = await watchSweeps(world, [await askForSweep(world, asked, progress)], watch);
      retried.push(tellRetried(await findEntry(world.pool, quarantineId), sweeps[0]));
    }
    progress.close();
    print(json, {json: {retried}, text: retried.map(drawRetried).join('\n')});
    return retried.every(({outcome}) => outcome === 'read' || outcome === 'gone') ? 0 : 1;
  });
}

type Entry = QuarantineEntry & {readonly xml: string};
type Numbered = Entry & {readonly number: string};

async function findEntry(db: Queryable, id: string): Promise<Entry> {
  const entry = /^[1-9]\d{0,17}$/.test(id) ? await readQuarantine(db, id) : null;
  if (entry === null)
    throw new UsageError(`no entry "${id}"; fieldmirror quarantine list shows what is open`);
  return entry;
}

function requireNumber(entry: Entry): Numbered {
  const {number, quarantineId, stream} = entry;
  if (number !== null) return {...entry, number};
  throw new UsageError(
    `quarantine ${quarantineId}: its number could not be read, so that nobody can ask for it; fieldmirror sync ${stream} reads the whole list`,
  );
}

function tellRetried(entry: Entry, sweep: Sweep | undefined): Retried {
  const {quarantineId, resolvedAt, reason, sweepId} = entry;
  if (resolvedAt !== null) {
    const absent = sweep?.evidence.absent;
    if (absent === undefined) return {quarantineId, outcome: 'read', reason: null};
    return {quarantineId, outcome: 'gone', reason: `the service said ${absent.status} "${absent.words}"`};
  }
  if (sweepId === sweep?.sweepId) return {quarantineId, outcome: 'still-bad', reason};
  return {quarantineId, outcome: 'not-answered', reason: sweep?.error ?? null};
}

const outcomes: Readonly<Record<Retried['outcome'], string>> = {
  read: 'it was read, and is in the warehouse',
  gone: 'it is gone at the service',
  'still-bad': 'it still cannot be read',
  'not-answered': 'the service gave no answer',
};

function drawRetried({quarantineId, outcome, reason}: Retried): string {
  return wrap(`quarantine ${quarantineId}: ${outcomes[outcome]}${reason === null ? '' : `: ${reason}`}`);
}

function drawEntries(entries: readonly QuarantineEntry[], hasSeveral: boolean): string {
  if (entries.length === 0) return 'nothing is in quarantine';
  const head = ['entry', 'record', 'first met', 'last met', 'what is wrong with it'];
  const rows = entries.map((entry) => [
    entry.quarantineId,
    nameRecord(entry, hasSeveral),
    formatAgo(entry.firstSeenAt),
    formatAgo(entry.lastSeenAt),
    entry.reason.length > reasonWidth ? `${entry.reason.slice(0, reasonWidth)}…` : entry.reason,
  ]);
  return `${drawTable(head, rows)}\nfieldmirror quarantine show ENTRY shows what the service sent`;
}

function nameRecord({account, stream, number, page}: QuarantineEntry, hasSeveral: boolean): string {
  const record =
    number === null ? `${stream}, no number${page === null ? '' : `, page ${page}`}` : `${stream} ${number}`;
  return hasSeveral ? `${account}: ${record}` : record;
}

function drawEntry(entry: Entry): string {
  const {quarantineId, number, reason, sweepId, firstSeenAt, lastSeenAt, resolvedAt, stream} = entry;
  const next =
    number === null
      ? `fieldmirror sync ${stream} reads the list anew`
      : `fieldmirror quarantine retry ${quarantineId} asks for it anew`;
  return [
    `quarantine ${quarantineId}: ${nameRecord(entry, true)}`,
    wrap(`  because ${reason}`),
    `first met ${firstSeenAt}, last met ${lastSeenAt}${sweepId === null ? '' : ` by sweep ${sweepId}`}`,
    resolvedAt === null ? next : `it has left quarantine ${resolvedAt}`,
    '',
    entry.xml,
  ].join('\n');
}
