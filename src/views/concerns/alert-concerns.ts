import type {RuleHealth} from '../../warehouse/alerts/rule-health.ts';
import {formatDuration, formatNumber} from '../format.ts';
import type {Concern} from './concerns.ts';

/**
 * Finds the rules whose messages do not arrive: nobody hears of anything else that is wrong.
 * @param now - ISO 8601, by the database's clock
 */
export function findFailingRules(rules: readonly RuleHealth[], now: string): Concern[] {
  return rules.flatMap(({rule, failingSince, lastError, givenUp}) => {
    if (failingSince === null) return [];
    const age = formatDuration(Math.max(0, Date.parse(now) - Date.parse(failingSince)));
    const why = lastError ?? 'no worker has what it takes to send them, a key or FIELDMIRROR_SMTP_URL';
    const lost = givenUp === 0 ? '' : ` (${formatNumber(givenUp)} given up)`;
    return [
      {
        ...{account: null, stream: null, kind: 'alerts-failing' as const, subject: rule, since: failingSince},
        text: `messages of the alert rule ${rule} do not arrive${lost}, for ${age}: ${why}`,
        next: `fieldmirror alerts test ${rule}`,
      },
    ];
  });
}
