// The verbs `sweeps`: past sweeps with the evidence for their end states, and the one decision that
// is a person's. Also the verbs `quarantine`: the records that sweeps could not read.

import {type Account, listAccounts} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {seeNumber, UsageError} from '../core/errors.ts';
import {formatAgo, formatNumber} from '../core/format.ts';
import {inTone, isId, shorten} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';
import {describePruned} from '../retention/retention.ts';
import {findStream} from '../streams/all.ts';
import {listQuarantine, type QuarantineEntry, readQuarantine} from '../sweeps/quarantine.ts';
import {listSweeps, quarantineCause, readSweepStory, type SweepStory} from '../sweeps/story.ts';
import {readSweep, type Sweep} from '../sweeps/sweeps.ts';
import {approveDeletions, describeApproval, type Tombstone} from '../sweeps/tombstones.ts';
import {
  describeCounts,
  describeEvidence,
  describeSteps,
  describeTarget,
  describeTombstone,
} from '../sweeps/words.ts';
import {chooseAccount} from './accounts.ts';
import {fitTable, type OutputOptions, print, wrap} from './terminal.ts';
import {type Warehouse, withWarehouse} from './warehouse.ts';

interface ListOptions {
  readonly stream?: string;
  readonly account?: string;
  readonly limit: number;
  readonly json: boolean;
}

/** The stream and the account by which a list is limited; null for all. */
async function readFilter(
  pool: Warehouse['pool'],
  {stream, account, limit}: Omit<ListOptions, 'json'>,
) {
  const streamName = stream === undefined ? null : findStream(stream).name;
  const accountIds =
    account === undefined ? null : [(await chooseAccount({pool}, account)).accountId];
  return {stream: streamName, accountIds, limit};
}

/** The latest sweeps, the newest first. @returns the exit code */
export async function sweepsList(config: Config, options: ListOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const sweeps = await listSweeps(pool, await readFilter(pool, options));
    print(options.json, {json: {sweeps}, text: formatSweeps(sweeps, await listAccounts(pool))});
    return 0;
  });
}

/**
 * One sweep: its counts and evidence, why it is not certified, and its tombstones. @returns the
 * exit code
 */
export async function sweepsShow(
  config: Config,
  id: string,
  options: OutputOptions,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const story = await readSweepStory(warehouse.pool, id);
    if (story === null) throw await makeNoSweepError(warehouse.pool, id);
    print(options.json, {json: story, text: formatSweep(story)});
    return 0;
  });
}

/**
 * Approves the tombstones of a stopped sweep: a worker, or the next `start`, requests each record
 * once more, and marks those that are still gone as deleted.
 * @throws {UsageError} the sweep is not stopped, or a later full sweep has ended
 */
export async function sweepsApprove(
  config: Config,
  id: string,
  options: OutputOptions,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const approved = await approveDeletions(warehouse.pool, await findSweep(warehouse, id));
    const text = describeApproval(approved);
    print(options.json, {json: {sweep: approved}, text});
    return 0;
  });
}

async function findSweep({pool}: Warehouse, id: string): Promise<Sweep> {
  const sweep = isId(id) ? await readSweep(pool, id) : null;
  if (sweep === null) throw await makeNoSweepError(pool, id);
  return sweep;
}

async function makeNoSweepError(pool: Warehouse['pool'], id: string): Promise<UsageError> {
  const pruned = await describePruned(pool, 'quiet_sweeps');
  return new UsageError(`no sweep "${id}"; fieldmirror sweeps list shows the latest${pruned}`);
}

function formatSweeps(sweeps: readonly Sweep[], accounts: readonly Account[]): string {
  if (sweeps.length === 0) return 'no sweep yet: fieldmirror sync begins one';
  const names = new Map(accounts.map(({accountId, name}) => [accountId, name]));
  const head = ['sweep', 'of', 'state', 'ended', 'records', 'new', 'changed', 'gone', 'requests'];
  const rows = sweeps.map((sweep) => [
    sweep.sweepId,
    `${accounts.length > 1 ? `${names.get(sweep.accountId)}: ` : ''}${describeTarget(sweep)}`,
    inTone(sweep.state),
    sweep.endedAt === null ? '' : formatAgo(sweep.endedAt),
    sweep.counts.records,
    sweep.counts.inserted,
    sweep.counts.updated + sweep.counts.revived,
    sweep.counts.tombstoned,
    sweep.counts.requests,
  ]);
  return fitTable(head, rows);
}

const mostListedTombstones = 50;
function formatSweep(story: SweepStory): string {
  const {sweep, tombstones, docs} = story;
  return [
    `sweep ${sweep.sweepId} of ${describeTarget(sweep)}: ${inTone(sweep.state)}`,
    ...sweep.reasons.map((reason) => `  because ${reason}`),
    ...(sweep.error === null ? [] : [`  error: ${sweep.error}`]),
    '',
    `began ${sweep.startedAt ?? 'not yet'}, ended ${sweep.endedAt ?? 'not yet'}, ` +
      `requested by ${sweep.requestedBy}`,
    ...(sweep.approvedAt === null ? [] : [`its tombstones were let through ${sweep.approvedAt}`]),
    ...describeSteps(story, new Date().toISOString()),
    ...describeEvidence(sweep),
    ...describeCounts(sweep),
    ...formatTombstones(tombstones),
    ...(docs === null ? [] : [seeNumber(docs)]),
  ].join('\n');
}

function formatTombstones(tombstones: readonly Tombstone[]): string[] {
  if (tombstones.length === 0) return [];
  const rows = tombstones
    .slice(0, mostListedTombstones)
    .map((tombstone) => [
      tombstone.number,
      tombstone.status === null ? 'not requested yet' : `${tombstone.status} ${tombstone.message}`,
      tombstone.requestedAt ?? '',
      describeTombstone(tombstone),
    ]);
  const hiddenCount = tombstones.length - rows.length;
  return [
    '',
    fitTable(['number', 'the service said', 'requested', 'row'], rows),
    ...(hiddenCount > 0 ? [`and ${formatNumber(hiddenCount)} more; --json lists all`] : []),
  ];
}

// The verbs `quarantine list` and `quarantine show`: records that could not be read, and why.

const reasonWidth = 60;

/** The records in quarantine, the latest first. @returns the exit code */
export async function quarantineList(config: Config, options: ListOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const entries = await listQuarantine(pool, await readFilter(pool, options));
    const hasSeveral = (await listAccounts(pool)).length > 1;
    print(options.json, {
      json: {quarantine: entries, docs: entries.length === 0 ? null : quarantineCause},
      text: formatEntries(entries, hasSeveral),
    });
    return 0;
  });
}

/**
 * One record: its problem, and the XML that the service sent, without secrets.
 * @returns the exit code
 */
export async function quarantineShow(
  config: Config,
  id: string,
  options: OutputOptions,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const entry = await findEntry(pool, id);
    print(options.json, {
      json: {entry, docs: entry.resolvedAt === null ? quarantineCause : null},
      text: formatEntry(entry),
    });
    return 0;
  });
}

/** An open or closed entry, with the record's XML. */
export type QuarantineEntryWithXml = QuarantineEntry & {readonly xml: string};
/** @throws {UsageError} there is no such entry */
export async function findEntry(db: Queryable, id: string): Promise<QuarantineEntryWithXml> {
  const entry = isId(id) ? await readQuarantine(db, id) : null;
  if (entry === null)
    throw new UsageError(`no entry "${id}"; fieldmirror quarantine list shows what is open`);
  return entry;
}

function formatEntries(entries: readonly QuarantineEntry[], hasSeveral: boolean): string {
  if (entries.length === 0) return 'nothing is in quarantine';
  const head = ['entry', 'record', 'first met', 'last met', 'what is wrong with it'];
  const rows = entries.map((entry) => [
    entry.quarantineId,
    nameRecord(entry, hasSeveral),
    formatAgo(entry.firstSeenAt),
    formatAgo(entry.lastSeenAt),
    shorten(entry.reason, reasonWidth),
  ]);
  const nextStep = 'fieldmirror quarantine show ENTRY shows what the service sent';
  return `${fitTable(head, rows)}\n${nextStep}; ${seeNumber(quarantineCause)}`;
}

function nameRecord({account, stream, number, page}: QuarantineEntry, hasSeveral: boolean): string {
  const record =
    number === null
      ? `${stream}, no number${page === null ? '' : `, page ${page}`}`
      : `${stream} ${number}`;
  return hasSeveral ? `${account}: ${record}` : record;
}

function formatEntry(entry: QuarantineEntryWithXml): string {
  const {quarantineId, number, reason, sweepId, firstSeenAt, lastSeenAt, resolvedAt, stream} =
    entry;
  const nextStep =
    number === null
      ? `fieldmirror sync ${stream} reads the list again`
      : `fieldmirror quarantine retry ${quarantineId} requests it again`;
  return [
    `quarantine ${quarantineId}: ${nameRecord(entry, true)}`,
    wrap(`  because ${reason}`),
    `first met ${firstSeenAt}, last met ${lastSeenAt}` +
      (sweepId === null ? '' : ` by sweep ${sweepId}`),
    resolvedAt === null
      ? `${nextStep}; ${seeNumber(quarantineCause)}`
      : `it has left quarantine ${resolvedAt}`,
    '',
    entry.xml,
  ].join('\n');
}
