import {seeNumber} from './errors.ts';

/** Everything that an alert can be about. The concerns of `src/alerts` bear these names. */
export const causes = [
  'copy',
  'stopped-account',
  'unserved',
  'no-worker',
  'overdue',
  'unproven',
  'failed',
  'approval',
  'no-room',
  'quarantine',
  'change-conflict',
  'change-altered',
  'change-rejected',
  'change-in-doubt',
  'change-failing',
  'change-untaken',
  'change-held',
  'drift',
  'star-behind',
  'growth',
  'alerts-failing',
  'hook-failing',
  'part-late',
  'held-up',
] as const;

export type Cause = (typeof causes)[number];

/**
 * The number of a cause's page: docs/alerts/A01.md. A number stays with its cause, and is never
 * given to another.
 */
export const causeNumbers: Readonly<Record<Cause, string>> = {
  copy: 'A01',
  'stopped-account': 'A02',
  unserved: 'A03',
  'no-worker': 'A04',
  overdue: 'A05',
  unproven: 'A06',
  failed: 'A07',
  approval: 'A08',
  'no-room': 'A09',
  quarantine: 'A10',
  'change-conflict': 'A11',
  'change-altered': 'A12',
  'change-rejected': 'A13',
  'change-in-doubt': 'A14',
  'change-failing': 'A15',
  'change-untaken': 'A16',
  'change-held': 'A17',
  drift: 'A18',
  'star-behind': 'A19',
  growth: 'A20',
  'alerts-failing': 'A21',
  'hook-failing': 'A22',
  'part-late': 'A23',
  'held-up': 'A24',
};

/** The words that lead to the page: `see: fieldmirror explain A01`. */
export function seeDocs(cause: Cause): string {
  return seeNumber(causeNumbers[cause]);
}
