import type {Page} from '../page.ts';
import {accountsPage} from './accounts.ts';
import {health} from './health.ts';
import {sweepList} from './sweeps/list.ts';
import {sweepPage} from './sweeps/one.ts';

/** Every page of the console. */
export const pages: readonly Page[] = [sweepList, sweepPage, accountsPage, health];
