import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {formatDuration, formatNumber} from '../core/format.ts';
import {prune as runPruning} from '../retention/prune.ts';
import {countPrunable, readPruningLeaseMs} from '../retention/prunings.ts';
import {type Retention, readRetention} from '../retention/retention.ts';
import {tellDays, wordsOf} from '../retention/retention-story.ts';
import {checkMigrations} from '../schema/migration-check.ts';
import {drawTable, print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';

export interface PruneOptions {
  /** Only counts. */
  readonly dryRun?: boolean;
  readonly json: boolean;
  readonly signal: AbortSignal;
}

interface Row extends Pick<Retention, 'kind' | 'days' | 'prunedTo'> {
  readonly count: number;
}

/**
 * Removes now what is no longer kept, as a worker does each hour.
 * @returns the exit code: 1 where another one is pruning, and nothing was done
 */
export async function prune(config: Config, options: PruneOptions): Promise<number> {
  const {json, dryRun = false} = options;
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
    const counts = new Map<string, number>();
    if (dryRun) {
      for (const {kind} of (await readRetention(pool)).kinds)
        counts.set(kind, await countPrunable(pool, kind));
    } else {
      const removed = await runPruning({pool, signal: options.signal, restMs: 0});
      if (removed === null) {
        const leaseMs = await readPruningLeaseMs(pool);
        print(json, {
          json: {state: 'busy', kinds: [], leaseMs},
          text: `another process is pruning at the moment: nothing was done; if that process is gone, the next one may begin in ${formatDuration(Math.max(1_000, leaseMs))} at most`,
        });
        return 1;
      }
      for (const {kind, count} of removed) counts.set(kind, count);
    }
    const {kinds} = await readRetention(pool);
    const rows = kinds.map(({kind, days, prunedTo}) => ({
      kind,
      days,
      prunedTo,
      count: counts.get(kind) ?? 0,
    }));
    const joined = counts.get('joined_versions') ?? 0;
    const told = joined === 0 ? '' : `\n${formatNumber(joined)} pairs of versions were joined`;
    print(json, {
      json: {state: dryRun ? 'counted' : 'pruned', kinds: rows, joinedVersions: joined},
      text: `${draw(rows, dryRun)}${told}`,
    });
    return 0;
  });
}

function draw(rows: readonly Row[], isDry: boolean): string {
  const total = rows.reduce((sum, {count}) => sum + count, 0);
  const table = drawTable(
    ['what', 'kept', isDry ? 'would go' : 'removed', 'gone from before'],
    rows.map(({kind, days, count, prunedTo}) => [
      wordsOf(kind),
      tellDays(days),
      count,
      prunedTo ?? '',
    ]),
  );
  const end = isDry ? 'would be removed; nothing was' : 'removed';
  return `${table}\n${formatNumber(total)} ${end}`;
}
