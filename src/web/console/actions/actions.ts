import type {Action} from '../action.ts';
import {addAccount, check, pause, resume} from './account-actions.ts';
import {addRule, removeRule, testRule} from './alert-actions.ts';
import {decideMany} from './changes/decide-many.ts';
import {decideOne} from './changes/decide-one.ts';
import {undoChanges} from './changes/undo-changes.ts';
import {fetchRecord} from './fetch-record.ts';
import {forgetCustomer} from './forget-customer.ts';
import {dropLetter, passOver, sendAgain, sendLetter} from './hook-actions.ts';
import {addKey, revokeKey} from './key-actions.ts';
import {giveFieldName} from './name-field.ts';
import {retryQuarantine} from './retry-quarantine.ts';
import {approve, sweepNow} from './sweep-actions.ts';

/** Every action of the console. */
export const actions: readonly Action[] = [
  sweepNow,
  approve,
  fetchRecord,
  forgetCustomer,
  retryQuarantine,
  giveFieldName,
  ...decideOne,
  decideMany,
  undoChanges,
  pause,
  resume,
  check,
  addAccount,
  addKey,
  revokeKey,
  addRule,
  testRule,
  removeRule,
  sendAgain,
  passOver,
  sendLetter,
  dropLetter,
];
