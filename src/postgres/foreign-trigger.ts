// A refusal by a function of somebody else in the database. It imports no driver, because every
// process that ends with an error calls it.

import {FatalError} from '../core/errors.ts';

/** raise_exception */
const raised = 'P0001';
/** The first trigger function of the context: it has no arguments, in any language of a server. */
const triggerFunction = /((?:"[^"]*"|[^\s"])+)\(\)/;
const ourFunction = /^(?:warehouse|history|mart|masked|sync|bullmq)\./;

/**
 * Turns the refusal of a trigger or an event trigger that is not ours into a FatalError with its
 * words and its name. Any other error is returned unchanged.
 */
export function explainForeignTrigger(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || error.code !== raised) return error;
  const context = 'where' in error ? String(error.where) : '';
  const [, name] = triggerFunction.exec(context) ?? [];
  if (name === undefined || ourFunction.test(name)) return error;
  return new FatalError(
    `Postgres: the function ${name}, which is not of Fieldmirror, refused a statement: ` +
      `${error.message}; a trigger or an event trigger calls it: let its owner allow the ` +
      `statement, then call the command again (${raised})`,
    {kind: 'warehouse'},
  );
}
