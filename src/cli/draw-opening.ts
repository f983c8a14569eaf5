import {describeIdle} from '../accounts/accounts.ts';
import {describeUnopened, type Served} from './served-accounts.ts';
import type {World} from './world.ts';

/** More accounts than these are told in one line. */
const fewAccounts = 3;

/**
 * The first lines of `start`: from where and to where it mirrors, and the accounts that it leaves
 * alone.
 */
export function drawOpening(
  world: World,
  {known, unopened}: Served,
  queue: 'redis' | 'postgres',
): string {
  const others = known.filter(({accountId}) => accountId !== world.own?.accountId);
  const sources = [
    ...(world.source === null ? [] : [world.source]),
    ...(others.length > fewAccounts
      ? [`${others.length} accounts whose tokens are sealed in the warehouse`]
      : others.map(({name, apiUrl}) => `${name}, ${apiUrl}`)),
  ];
  const idle = known.filter(({state}) => state !== 'active').map(describeIdle);
  return [
    'Fieldmirror',
    ...(sources.length > 0 ? sources : ['no account yet']).map(
      (source, at) => `  ${at === 0 ? 'from ' : '     '}  ${source}`,
    ),
    `  to     ${world.place}`,
    `  queue  ${queue === 'redis' ? 'Redis' : 'in the same Postgres'}`,
    ...[...idle, ...describeUnopened(unopened)].map((line) => `\n${line}`),
  ].join('\n');
}
