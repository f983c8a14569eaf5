import type {Page} from '../page.ts';
import {health} from './health.ts';

/** Every page of the console. */
export const pages: readonly Page[] = [health];
