import type {TestWorld} from '../support/world.ts';
import {openWorld} from '../support/world.ts';
import {type JobScript, scriptJobs} from './adversary-script.ts';

/** A scripted list of jobs, and a warehouse that mirrors it. */
export interface ScriptPlace {
  readonly script: JobScript;
  readonly world: TestWorld;
  /** Sweeps the jobs once more, at once even after a postponement. */
  sweep(): ReturnType<TestWorld['sweep']>;
  /** Numbers of the live rows, in order. */
  live(): Promise<number[]>;
  /** Numbers of the rows that are marked deleted, in order. */
  deleted(): Promise<number[]>;
  /** Descriptions of the live rows by number. */
  descriptions(): Promise<Record<string, string | null>>;
  reasons(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export async function openScript(pages: readonly (readonly number[])[]): Promise<ScriptPlace> {
  const script = await scriptJobs(pages);
  const world = await openWorld(script);
  const numbers = async (isDeleted: boolean) => {
    const {rows} = await world.pool.query(
      'SELECT job_number FROM warehouse.jobs WHERE (_deleted_at IS NOT NULL) = $1 ORDER BY 1',
      [isDeleted],
    );
    return rows.map((row) => Number(row.job_number));
  };
  return {
    script,
    world,
    sweep: () => world.sweep('jobs'),
    live: () => numbers(false),
    deleted: () => numbers(true),
    descriptions: async () => {
      const {rows} = await world.pool.query(
        'SELECT job_number, description FROM warehouse.jobs WHERE _deleted_at IS NULL',
      );
      return Object.fromEntries(rows.map((row) => [String(row.job_number), row.description]));
    },
    reasons: async () => {
      const {rows} = await world.pool.query(
        'SELECT reasons FROM sync.sweeps ORDER BY sweep_id DESC LIMIT 1',
      );
      return rows[0]?.reasons ?? [];
    },
    close: async () => {
      await world.close();
      await script.close();
    },
  };
}

/** Whole numbers from the first to the last, both included. */
export function range(first: number, last: number): number[] {
  return Array.from({length: last - first + 1}, (_, at) => first + at);
}

/** Numbers in pages of this size. */
export function inPages(numbers: readonly number[], size: number): number[][] {
  const count = Math.ceil(numbers.length / size);
  return Array.from({length: count}, (_, at) => numbers.slice(at * size, (at + 1) * size));
}
