import pg from 'pg';

/**
 * The name of the constraint that an error tells of, however deep it stands; null when it tells of
 * none.
 */
export function violatedConstraint(error: unknown): string | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof pg.DatabaseError && cause.constraint !== undefined)
      return cause.constraint;
  return null;
}
