import {UsageError} from '../base/errors.ts';

/** Changes show the name in `application_name`, of which Postgres keeps 63 bytes. */
const shape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/;

/** @throws {UsageError} a key cannot be called so. @param place - where the name was given: `keys add` */
export function checkKeyName(name: string, place: string): void {
  if (shape.test(name)) return;
  throw new UsageError(
    `${place}: expected a name of up to 50 letters, digits, dots, underscores and hyphens, got ${JSON.stringify(name)}`,
  );
}
