import {addAccount, check, pause, resume} from './account-actions.ts';
import type {Action} from './action.ts';
import {addRule, removeRule, testRule} from './alert-actions.ts';
import {decideMany} from './decide-many-action.ts';
import {decideOne} from './decide-one-action.ts';
import {fetchRecord} from './fetch-record-action.ts';
import {forgetCustomer} from './forget-customer-action.ts';
import {dropLetter, passOver, sendAgain, sendLetter} from './hook-actions.ts';
import {addKey, revokeKey} from './key-actions.ts';
import {giveFieldName} from './name-field-action.ts';
import {retryQuarantine} from './retry-quarantine-action.ts';
import {approve, sweepNow} from './sweep-actions.ts';
import {undoChanges} from './undo-changes-action.ts';

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
