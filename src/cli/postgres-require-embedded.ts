import {join} from 'node:path';
import {FatalError} from '../core/errors.ts';
import {hasEmbedded} from '../postgres/embedded.ts';

/**
 * A verb that only looks makes no Postgres: it would be an empty one.
 * @throws {FatalError} there is none yet
 */
export function requireEmbedded(home: string): void {
  if (hasEmbedded(home)) return;
  throw new FatalError(
    `warehouse: expected a Postgres in ${join(home, 'postgres')}, got none: nothing is mirrored yet; fieldmirror start makes it and fills it, fieldmirror init sets up an account of yours first`,
    {kind: 'schema'},
  );
}
