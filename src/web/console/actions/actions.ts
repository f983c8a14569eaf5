import type {Action} from '../action.ts';
import {addAccount, check, pause, resume} from './account-actions.ts';
import {addKey, revokeKey} from './key-actions.ts';
import {approve, sweepNow} from './sweep-actions.ts';

/** Every action of the console. */
export const actions: readonly Action[] = [
  sweepNow,
  approve,
  pause,
  resume,
  check,
  addAccount,
  addKey,
  revokeKey,
];
