import type {Concern} from '../alerts/concerns.ts';
import {type Look, linkTo} from './look.ts';

type Address = readonly [path: string, filters?: Readonly<Record<string, string>>];

const addresses: Partial<Readonly<Record<Concern['kind'], Address>>> = {
  copy: ['/health'],
  'stopped-account': ['/accounts'],
  unserved: ['/accounts'],
  failed: ['/sweeps', {mode: 'full', state: 'failed'}],
  approval: ['/sweeps', {mode: 'full', state: 'stopped'}],
  unproven: ['/sweeps', {mode: 'full'}],
  'no-room': ['/sweeps', {state: 'due'}],
  overdue: ['/health'],
  'no-worker': ['/health'],
  'star-behind': ['/health'],
  growth: ['/health'],
  quarantine: ['/quarantine'],
  drift: ['/fields'],
  'alerts-failing': ['/alerts'],
  'hook-failing': ['/alerts'],
};

/** The page on which a concern is looked after; null where there is none. */
export function linkOfConcern(
  {kind, stream, account}: Pick<Concern, 'kind' | 'stream' | 'account'>,
  look: Look,
): string | null {
  const [, state] = /^change-(.+)$/.exec(kind) ?? [];
  const [path, filters = {}] =
    state === undefined ? (addresses[kind] ?? [null]) : (['/changes', {state: 'needy'}] as const);
  if (path === null) return null;
  const of = look.seen.length > 1 ? account : undefined;
  return linkTo(look, path, {
    ...filters,
    ...(['/sweeps', '/quarantine'].includes(path) ? {stream} : {}),
    account: of,
  });
}
