// A subscriber of the feed from the words of the command line: checked before anything is opened.

import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {checkShortName, nearest} from '../core/names.ts';
import {makeWebhookSecret} from '../feed/deliver.ts';
import {type HookPlan, spellWriter} from '../feed/feed-hooks.ts';
import {mostEntries} from '../feed/hook-tables.ts';
import {sealAccess} from '../feed/receiver-access.ts';
import {parseTarget} from '../feed/receiver-target.ts';
import {allTables} from '../streams/all.ts';

export interface HookOptions {
  readonly url: string;
  readonly table: readonly string[];
  /** Logins, and keys as `http:NAME`, whose entries are not sent. */
  readonly leaveOut: readonly string[];
  readonly after?: string;
  readonly limit: number;
  readonly mask: boolean;
}

/** A subscriber that can be kept, and the secret that is shown this once. */
export interface PlannedHook {
  readonly plan: Omit<HookPlan, 'accountId'>;
  readonly secret: string;
}

const tables = allTables.map(({name}) => name);

/**
 * Makes a subscriber of what was typed.
 * @throws {UsageError} an address that may not be used, an unknown table, a limit that is too
 *   large, no key to seal with
 */
export function planHook(
  {keys, allowsHttp}: Pick<Config, 'keys' | 'allowsHttp'>,
  name: string,
  {url, table, leaveOut, after, limit, mask}: HookOptions,
): PlannedHook {
  const [key] = keys;
  checkShortName(name, 'hooks add');
  for (const typed of table)
    if (!tables.includes(typed))
      throw new UsageError(
        `hooks add: no table "${typed}"${nearest(typed, tables)}; there are ${tables.join(', ')}`,
      );
  if (limit < 1 || limit > mostEntries)
    throw new UsageError(`hooks add: --limit: expected 1 to ${mostEntries}, got ${limit}`);
  if (key === undefined)
    throw new UsageError(
      "hooks add: expected a key to seal the subscriber's address with, got none: openssl rand -base64 32 makes one; keep it, and give it to this command and to start as FIELDMIRROR_KEY or in the file FIELDMIRROR_KEY_FILE",
    );
  const {host} = parseTarget(url, allowsHttp);
  const secret = makeWebhookSecret();
  const plan = {
    ...{name, target: host, masks: mask, most: limit},
    sealed: sealAccess({address: url, secret}, key, {kind: 'feed_hooks', name}),
    tables: table.length === 0 ? null : [...table],
    leavesOut: leaveOut.length === 0 ? null : leaveOut.map(spellWriter),
    after: after === undefined || after === 'end' ? null : after,
  };
  return {plan, secret};
}

/**
 * @throws {UsageError} a writer that is neither a login nor a key: its entries would come back as
 * an echo
 */
export function checkWriters(given: readonly string[], known: readonly string[]): void {
  for (const writer of given)
    if (!known.includes(writer))
      throw new UsageError(
        `hooks add: --leave-out: no login and no key "${writer}"${nearest(writer, known)}; a key is given as http:NAME`,
      );
}
