import {UsageError} from './errors.ts';
import {shortName, shortNameText} from './short-name.ts';

/**
 * @throws {UsageError} nothing can be called so. @param place - where the name was given:
 * `keys add`
 */
export function checkShortName(name: string, place: string): void {
  if (!shortName.test(name))
    throw new UsageError(`${place}: ${shortNameText}, got ${JSON.stringify(name)}`);
}
