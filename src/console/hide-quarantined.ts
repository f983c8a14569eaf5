import type {QuarantineEntry} from '../sweeps/quarantine.ts';
import {hidden} from './page.ts';

/**
 * An entry for a viewer who is not to see personal data: what came may name somebody, what was
 * expected does not.
 */
export function hideEntry<Told extends QuarantineEntry>(entry: Told): Told {
  const [, expected] = /^(.*?: field [^:]*: expected .*?), got /s.exec(entry.reason) ?? [];
  const reason = expected === undefined ? hidden : `${expected}, got ${hidden}`;
  return {...entry, reason, ...('xml' in entry ? {xml: hidden} : {})};
}
