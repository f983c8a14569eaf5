// The verb `sweeps`: past sweeps with the evidence for their end states, and the one decision that is a
// person's.

import type {Config} from '../../base/config.ts';
import {UsageError} from '../../base/errors.ts';
import {findStream} from '../../streams/all.ts';
import {wideGap} from '../../sync/verify/open-numbers.ts';
import {formatAgo, formatNumber} from '../../views/format.ts';
import {type Account, listAccounts} from '../../warehouse/accounts/accounts.ts';
import type {Asked, ListEnd} from '../../warehouse/sweeps/evidence.ts';
import type {Sweep} from '../../warehouse/sweeps/sweep.ts';
import {approveSweep, listSweeps, readSweep} from '../../warehouse/sweeps/sweeps.ts';
import {listTombstones, type Tombstone} from '../../warehouse/sweeps/tombstones.ts';
import {chooseAccount} from '../accounts/choose-account.ts';
import {drawTable, print} from '../terminal/report.ts';
import {type Warehouse, withWarehouse} from '../warehouse.ts';

export interface ListOptions {
  readonly stream?: string;
  readonly account?: string;
  readonly limit: number;
  readonly json: boolean;
}

/** The latest sweeps, the newest first. @returns the exit code */
export async function list(config: Config, options: ListOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    const stream = options.stream === undefined ? null : findStream(options.stream).name;
    const account = options.account === undefined ? null : await chooseAccount(warehouse, options.account);
    const sweeps = await listSweeps(pool, {
      accountId: account?.accountId ?? null,
      stream,
      limit: options.limit,
    });
    print(options.json, {json: {sweeps}, text: drawSweeps(sweeps, await listAccounts(pool))});
    return 0;
  });
}

/** One sweep: its counts and evidence, why it is not certified, and its tombstones. @returns the exit code */
export async function show(config: Config, id: string, options: {readonly json: boolean}): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const sweep = await findSweep(warehouse, id);
    const tombstones = await listTombstones(warehouse.pool, sweep.sweepId);
    print(options.json, {json: {sweep, tombstones}, text: drawSweep(sweep, tombstones)});
    return 0;
  });
}

/**
 * Lets the tombstones of a stopped sweep through: a worker, or the next `start`, asks for each record once
 * more and marks deleted those still gone.
 * @throws {UsageError} the sweep is not stopped, or a later full sweep has come to its end
 */
export async function approve(
  config: Config,
  id: string,
  options: {readonly json: boolean},
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {state, stream} = await findSweep(warehouse, id);
    if (state !== 'stopped')
      throw new UsageError(`sweep ${id} is ${state}: only a stopped one waits for approval`);
    const approved = await approveSweep(warehouse.pool, id);
    if (approved === null)
      throw new UsageError(
        `sweep ${id}: a later full sweep of ${stream} has come to its end: look at that one (fieldmirror sweeps list ${stream})`,
      );
    const text = `sweep ${id} is due again: it asks for each record once more, and marks deleted what is gone`;
    print(options.json, {json: {sweep: approved}, text});
    return 0;
  });
}

async function findSweep({pool}: Warehouse, id: string): Promise<Sweep> {
  const sweep = /^[1-9]\d{0,17}$/.test(id) ? await readSweep(pool, id) : null;
  if (sweep === null) throw new UsageError(`no sweep "${id}"; fieldmirror sweeps list shows the latest`);
  return sweep;
}

function drawSweeps(sweeps: readonly Sweep[], accounts: readonly Account[]): string {
  if (sweeps.length === 0) return 'no sweep yet: fieldmirror sync begins one';
  const names = new Map(accounts.map(({accountId, name}) => [accountId, name]));
  const head = ['sweep', 'of', 'state', 'ended', 'records', 'new', 'changed', 'gone', 'requests'];
  const rows = sweeps.map((sweep) => [
    sweep.sweepId,
    `${accounts.length > 1 ? `${names.get(sweep.accountId)}: ` : ''}${describeTarget(sweep)}`,
    sweep.state,
    sweep.endedAt === null ? '' : formatAgo(sweep.endedAt),
    sweep.counts.records,
    sweep.counts.inserted,
    sweep.counts.updated + sweep.counts.revived,
    sweep.counts.tombstoned,
    sweep.counts.requests,
  ]);
  return drawTable(head, rows);
}

function describeTarget({stream, mode, windowName, recordNumber}: Sweep): string {
  if (mode === 'full') return stream;
  return mode === 'window' ? `${stream}, window ${windowName}` : `${stream} ${recordNumber}`;
}

const listedTombstones = 50;
const endings: Readonly<Record<ListEnd, string>> = {
  'empty-page': 'which was empty',
  'whole-answer': 'the whole list in one answer',
  'repeated-page': 'which was the page before it once more',
  'nothing-new': 'which brought nothing new',
};

function drawSweep(sweep: Sweep, tombstones: readonly Tombstone[]): string {
  const {counts} = sweep;
  return [
    `sweep ${sweep.sweepId} of ${describeTarget(sweep)}: ${sweep.state}`,
    ...sweep.reasons.map((reason) => `  because ${reason}`),
    ...(sweep.error === null ? [] : [`  error: ${sweep.error}`]),
    '',
    `began ${sweep.startedAt ?? 'not yet'}, ended ${sweep.endedAt ?? 'not yet'}, asked for by ${sweep.requestedBy}`,
    ...(sweep.approvedAt === null ? [] : [`its tombstones were let through ${sweep.approvedAt}`]),
    ...drawEvidence(sweep),
    `in all: ${formatNumber(counts.requests)} requests, ${formatNumber(counts.bytes)} bytes`,
    `records: ${formatNumber(counts.records)}, of them ${formatNumber(counts.known)} known byte for byte`,
    `rows: ${formatNumber(counts.inserted)} new, ${formatNumber(counts.updated)} changed, ${formatNumber(counts.unchanged)} unchanged, ${formatNumber(counts.revived)} came back, ${formatNumber(counts.tombstoned)} marked deleted; ${formatNumber(counts.vanished)} children vanished; ${formatNumber(counts.quarantined)} in quarantine`,
    ...drawTombstones(tombstones),
  ].join('\n');
}

function drawEvidence({evidence}: Sweep): string[] {
  const {firstPass, sample, secondPass, missed, lost, unseen, quarantined, gaps, edges, absent} = evidence;
  const questions: [string, Asked | undefined][] = [
    ['numbers that only the second pass saw', missed],
    ['numbers that only the first pass saw', lost],
    ['live rows that no pass saw', unseen],
    ['records in quarantine that no pass saw', quarantined],
    ['numbers inside the known range that were never seen', gaps],
    ['numbers just outside it', edges],
  ];
  return [
    ...(absent === undefined
      ? []
      : [`the service has none of that number: ${absent.status} "${absent.words}"`]),
    ...(firstPass === undefined
      ? []
      : [
          `first pass: ${formatNumber(firstPass.numbers)} records up to page ${formatNumber(firstPass.lastPage)}, ${endings[firstPass.endedBy]}`,
        ]),
    ...(sample === undefined || sample.records === 0
      ? []
      : [
          `compared by what rows hold: ${formatNumber(sample.records)} known records${sample.isWhole ? ', all there are' : ''}; ${formatNumber(sample.altered)} rows held something else, and were put right`,
        ]),
    ...(secondPass === undefined
      ? []
      : [
          `second pass: ${formatNumber(secondPass.numbers)} numbers on ${formatNumber(secondPass.pages)} pages, ${secondPass.isQuiet ? 'every page as before' : 'the list had moved'}`,
        ]),
    ...questions.flatMap(([what, asked]) =>
      asked === undefined || asked.asked === 0
        ? []
        : [
            `asked for ${formatNumber(asked.asked)} ${what}: ${formatNumber(asked.found)} found, ${formatNumber(asked.gone)} gone`,
          ],
    ),
    ...(gaps?.sampled
      ? [
          `${formatNumber(gaps.sampled)} numbers that were never seen stand in gaps of more than ${formatNumber(wideGap)}: a sample of each was asked for, once`,
        ]
      : []),
  ];
}

function drawTombstones(tombstones: readonly Tombstone[]): string[] {
  if (tombstones.length === 0) return [];
  const rows = tombstones
    .slice(0, listedTombstones)
    .map((tombstone) => [
      tombstone.number,
      tombstone.status === null ? 'not asked yet' : `${tombstone.status} ${tombstone.words}`,
      tombstone.askedAt ?? '',
      describeTombstone(tombstone),
    ]);
  const more = tombstones.length - rows.length;
  return [
    '',
    drawTable(['number', 'the service said', 'asked', 'row'], rows),
    ...(more > 0 ? [`and ${formatNumber(more)} more; --json lists all`] : []),
  ];
}

function describeTombstone({writtenAt, undoneAt}: Tombstone): string {
  if (writtenAt === null) return 'not marked';
  return undoneAt === null ? `marked deleted ${writtenAt}` : `came back ${undoneAt}`;
}
