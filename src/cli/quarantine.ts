// The verbs `quarantine list` and `quarantine show`: records that could not be read, and why.

import {listAccounts} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {seeNumber, UsageError} from '../core/errors.ts';
import {formatAgo} from '../core/format.ts';
import {isId} from '../core/ids.ts';
import {shorten} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';
import {findStream} from '../streams/all.ts';
import {listQuarantine, type QuarantineEntry, readQuarantine} from '../sweeps/quarantine.ts';
import {quarantineCause} from '../sweeps/story.ts';
import {chooseAccount} from './accounts.ts';
import {drawTable, print, wrap} from './print.ts';
import {withWarehouse} from './warehouse.ts';

interface ListOptions {
  readonly stream?: string;
  readonly account?: string;
  readonly limit: number;
  readonly json: boolean;
}

const reasonWidth = 60;

/** The records in quarantine, the latest first. @returns the exit code */
export async function quarantineList(config: Config, options: ListOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async (warehouse) => {
    const {pool} = warehouse;
    const stream = options.stream === undefined ? null : findStream(options.stream).name;
    const account =
      options.account === undefined ? null : await chooseAccount(warehouse, options.account);
    const {limit} = options;
    const entries = await listQuarantine(pool, {
      accountIds: account === null ? null : [account.accountId],
      stream,
      limit,
    });
    const hasSeveral = (await listAccounts(pool)).length > 1;
    print(options.json, {
      json: {quarantine: entries, docs: entries.length === 0 ? null : quarantineCause},
      text: drawEntries(entries, hasSeveral),
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
  options: {readonly json: boolean},
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const entry = await findEntry(pool, id);
    print(options.json, {
      json: {entry, docs: entry.resolvedAt === null ? quarantineCause : null},
      text: drawEntry(entry),
    });
    return 0;
  });
}

/** An open or closed entry, with the record's XML. */
export type ShownEntry = QuarantineEntry & {readonly xml: string};
/** @throws {UsageError} there is no such entry */
export async function findEntry(db: Queryable, id: string): Promise<ShownEntry> {
  const entry = isId(id) ? await readQuarantine(db, id) : null;
  if (entry === null)
    throw new UsageError(`no entry "${id}"; fieldmirror quarantine list shows what is open`);
  return entry;
}

function drawEntries(entries: readonly QuarantineEntry[], hasSeveral: boolean): string {
  if (entries.length === 0) return 'nothing is in quarantine';
  const head = ['entry', 'record', 'first met', 'last met', 'what is wrong with it'];
  const rows = entries.map((entry) => [
    entry.quarantineId,
    nameRecord(entry, hasSeveral),
    formatAgo(entry.firstSeenAt),
    formatAgo(entry.lastSeenAt),
    shorten(entry.reason, reasonWidth),
  ]);
  return `${drawTable(head, rows)}\nfieldmirror quarantine show ENTRY shows what the service sent; ${seeNumber(quarantineCause)}`;
}

function nameRecord({account, stream, number, page}: QuarantineEntry, hasSeveral: boolean): string {
  const record =
    number === null
      ? `${stream}, no number${page === null ? '' : `, page ${page}`}`
      : `${stream} ${number}`;
  return hasSeveral ? `${account}: ${record}` : record;
}

function drawEntry(entry: ShownEntry): string {
  const {quarantineId, number, reason, sweepId, firstSeenAt, lastSeenAt, resolvedAt, stream} =
    entry;
  const next =
    number === null
      ? `fieldmirror sync ${stream} reads the list anew`
      : `fieldmirror quarantine retry ${quarantineId} asks for it anew`;
  return [
    `quarantine ${quarantineId}: ${nameRecord(entry, true)}`,
    wrap(`  because ${reason}`),
    `first met ${firstSeenAt}, last met ${lastSeenAt}${sweepId === null ? '' : ` by sweep ${sweepId}`}`,
    resolvedAt === null
      ? `${next}; ${seeNumber(quarantineCause)}`
      : `it has left quarantine ${resolvedAt}`,
    '',
    entry.xml,
  ].join('\n');
}
