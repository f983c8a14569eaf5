import type {Action} from '../action.ts';
import {pause, resume} from './pause-account.ts';
import {approve, sweepNow} from './sweep-actions.ts';

/** Every action of the console. */
export const actions: readonly Action[] = [sweepNow, approve, pause, resume];
