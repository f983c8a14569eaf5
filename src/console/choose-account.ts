import type {Account} from '../accounts/accounts.ts';
import {Refused} from './refused.ts';

/**
 * The account whose business is shown: the chosen one, else the first. Nothing sums over accounts:
 * their currencies may differ.
 */
export function chooseOne([first]: readonly Account[]): Account {
  if (first !== undefined) return first;
  throw new Refused(404, {title: 'Nothing to show', text: 'No account is mirrored yet.'});
}
