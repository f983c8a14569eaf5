import type pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {showSecond} from '../core/format.ts';

/**
 * The moment that a person means: the end of a day of the account, or an instant.
 * @returns null for the present
 * @throws {UsageError} no day and no instant, one before the mirror knew the account, or one to
 *   come
 */
export async function findMoment(
  client: pg.ClientBase,
  accountKey: string,
  typed: string | undefined,
): Promise<string | null> {
  if (typed === undefined) return null;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(typed);
  if (!isMoment(typed, isDay))
    throw new UsageError(
      `--as-of: expected a day such as 2026-10-31, or an instant with its offset such as 2026-10-31T17:00:00Z, got "${typed}"`,
    );
  // A day ends a microsecond before the next one begins: its own date is the one that ages are
  // counted to.
  const {rows} = await client.query<{
    moment: string;
    knownSince: string | null;
    isKnown: boolean | null;
    isToCome: boolean;
  }>(
    `SELECT moment, known_since AS "knownSince", moment >= known_since AS "isKnown", moment > now() AS "isToCome"
       FROM (SELECT known_since, ${isDay ? `(($2::date + 1)::timestamp AT TIME ZONE time_zone) - interval '1 microsecond'` : '$2::timestamptz'} AS moment
               FROM mart.dim_account WHERE account_key = $1) AS asked`,
    [accountKey, typed],
  );
  const [asked] = rows;
  if (asked === undefined) return null;
  if (asked.isToCome) throw new UsageError(`--as-of ${typed}: expected a moment that has passed`);
  if (asked.isKnown !== true)
    throw new UsageError(
      asked.knownSince === null
        ? `--as-of ${typed}: the mirror knows nothing yet: jobs, customers and employees were never all proven complete; run fieldmirror sync`
        : `--as-of ${typed}: the mirror knows the account since ${showSecond(asked.knownSince)}; ask for that moment or a later one`,
    );
  return asked.moment;
}

/**
 * Postgres has neither the year 0 nor the days that JavaScript moves into the next month, such as
 * February 30.
 */
function isMoment(typed: string, isDay: boolean): boolean {
  if (!/^(?!0000)\d{4}-\d{2}-\d{2}(?:$|[T ])/.test(typed)) return false;
  const day = typed.slice(0, 10);
  const parsed = new Date(`${day}T00:00:00Z`);
  if (Number.isNaN(parsed.getTime()) || !parsed.toISOString().startsWith(day)) return false;
  return (
    isDay || (/(Z|[+-](?:0\d|1[0-4]):?[0-5]\d)$/.test(typed) && !Number.isNaN(Date.parse(typed)))
  );
}
