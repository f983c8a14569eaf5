import pg from 'pg';
import {FatalError} from '../core/errors.ts';

/**
 * Runs a statement that drops something, and names the things of others that stand on it.
 * @param change - the thing, and its change, as in `mart.dim_item: this version has it no more`
 * @throws {FatalError} others stand on what would go
 */
export async function nameDependents(change: string, act: () => Promise<unknown>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== '2BP01') throw error;
    const others = error.detail?.replaceAll('\n', '; ') ?? error.message;
    throw new FatalError(
      `${change}, but others stand on it: ${others}; drop them first, and make them again afterwards`,
      {cause: error, kind: 'dependents'},
    );
  }
}
