// The story of a record with a fault, before all that could tell it is gone: what was sent, and
// what the service did.

import type pg from 'pg';
import type {Values} from '../push/history.ts';

/** A write as the service noted it. */
interface Told {
  readonly at: Date;
  readonly method: string;
  readonly path: string;
  readonly number: string | null;
  readonly changed: Values;
  readonly isOurs: boolean;
}

const mostStories = 3;

/**
 * @param faults - lines that begin with a table and a number, as those of the checker do
 * @returns some lines for each of the first faults
 */
export async function describeStories(
  pool: pg.Pool,
  journal: readonly Told[],
  faults: readonly string[],
): Promise<string[]> {
  const lines: string[] = [];
  for (const fault of faults.slice(0, mostStories)) {
    const [, table, number] = /(\w+) (\d+)/.exec(fault) ?? [];
    if (table === undefined || number === undefined) continue;
    lines.push(
      `the story of ${table} ${number}:`,
      ...(await describeStory(pool, journal, {table, number})),
    );
  }
  return lines;
}

async function describeStory(
  pool: pg.Pool,
  journal: readonly Told[],
  {table, number}: {readonly table: string; readonly number: string},
): Promise<string[]> {
  const {rows} = await pool.query<{at: Date; said: string}>(
    `SELECT started_at AS at, concat_ws(' ', 'change', change_id, operation, state, method, path,
      replace(request, chr(10), ''), 'read', read_at,
                                        'ended', ended_at, outcome, status) AS said
       FROM sync.attempts JOIN sync.changes USING (change_id)
      WHERE table_name = $1 AND number = $2`,
    [table, number],
  );
  const writes = journal
    .filter((entry) => entry.number === number && entry.path.includes(table.replace(/^.*_/, '')))
    .map(({at, method, path, changed, isOurs}) => {
      const whose = isOurs ? 'us' : 'others';
      return {
        at,
        said: `the service: ${method} ${path} by ${whose} ${JSON.stringify(changed)}`,
      };
    });
  return [...rows, ...writes]
    .sort((one, other) => Number(new Date(one.at)) - Number(new Date(other.at)))
    .map(({at, said}) => `  ${new Date(at).toISOString()} ${said}`);
}
