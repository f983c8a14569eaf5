import type {Account} from './accounts.ts';

/**
 * The commands that let an account go on that is paused or stopped, each with what it does; none of
 * an active one.
 */
export function listWaysOn({
  name,
  state,
  keyId,
}: Pick<Account, 'name' | 'state' | 'keyId'>): readonly (readonly [string, string])[] {
  if (state === 'active') return [];
  if (state === 'paused') return [[`accounts resume ${name}`, 'lets it go on']];
  const check = [`accounts check ${name}`, 'lets it go on, once its token is taken again'] as const;
  // Every worker picks up a sealed token; a token of the environment is known to its process alone.
  return keyId === null
    ? [['start', 'lets it go on, with the right FIELDMIRROR_API_TOKEN'], check]
    : [[`accounts add ${name}`, 'gives it a new token, and lets it go on'], check];
}

/** `account acme is stopped: why; fieldmirror accounts check acme lets it go on …` */
export function describeIdle(account: Account): string {
  const {name, state, stateReason} = account;
  const reason = stateReason === null ? '' : `: ${stateReason}`;
  const ways = listWaysOn(account).map(([command, does]) => `; fieldmirror ${command} ${does}`);
  return `account ${name} is ${state}${reason}${ways.join('')}`;
}
