/** Everything that an alert can be about. The concerns of `src/views/concerns` bear these names. */
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
] as const;

export type Cause = (typeof causes)[number];
