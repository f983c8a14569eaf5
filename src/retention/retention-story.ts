// How long things are kept, and what was removed: the same for status, doctor, prune and whoever
// asks for what is gone.

import {formatAgo, formatNumber} from '../core/format.ts';
import type {Queryable} from '../postgres/database.ts';
import {type RetentionStory, readRetention} from './retention.ts';
import {type RetentionKind, type RetentionName, retentionKinds} from './retention-kinds.ts';

/**
 * `kept: quiet sweeps 7 days, …, audit for ever; pruned 12 min ago` @param now - ISO 8601, by the
 * database's clock
 */
export function tellRetention({kinds, prunedAt}: RetentionStory, now: string): string {
  const parts = kinds.map(({kind, days}) => `${wordsOf(kind)} ${tellDays(days)}`);
  const pruned = prunedAt === null ? 'not pruned yet' : `pruned ${formatAgo(prunedAt, now)}`;
  return `kept: ${parts.join(', ')}; ${pruned}`;
}

/** `7 days`, `for ever` */
export function tellDays(days: number | null): string {
  return days === null ? 'for ever' : `${formatNumber(days)} days`;
}

/** `quiet sweeps` */
export function wordsOf(kind: RetentionName): string {
  return findKind(kind)?.words ?? kind;
}

/**
 * A sentence for somebody who asked for a thing that is not there; empty where none of its kind was
 * ever removed.
 */
export async function tellPruned(db: Queryable, kind: RetentionName): Promise<string> {
  const {prunedTo = null} =
    (await readRetention(db)).kinds.find((each) => each.kind === kind) ?? {};
  const left = kind === 'quiet_sweeps' ? '; sync.sweep_days has their days' : '';
  return prunedTo === null
    ? ''
    : `; ${wordsOf(kind)} from before ${prunedTo} are no longer kept${left}`;
}

function findKind(kind: RetentionName): RetentionKind | undefined {
  return retentionKinds.find(({name}) => name === kind);
}
