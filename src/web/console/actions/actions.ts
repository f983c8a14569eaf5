import type {Action} from '../action.ts';
import {pause, resume} from './pause-account.ts';

/** Every action of the console. */
export const actions: readonly Action[] = [pause, resume];
