import {join} from 'node:path';
import type {Looker} from '../alerts/every-concern.ts';
import {readBounds} from '../alerts/growth-concerns.ts';
import type {Config} from '../core/config.ts';

/** What this process brings along when it looks for what is wrong. */
export function toLooker({
  keys,
  bounds,
  databaseUrl,
  directUrl,
  home,
}: Pick<Config, 'keys' | 'bounds' | 'databaseUrl' | 'directUrl' | 'home'>): Looker {
  return {
    keyIds: keys.map(({id}) => id),
    bounds: readBounds(bounds),
    address: {databaseUrl, directUrl, home},
    home: databaseUrl === null ? join(home, 'postgres') : null,
  };
}
