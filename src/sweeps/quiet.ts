// Sweeps that changed nothing: most of them, which lists fold and retention thins out. Apart from
// the tables, whose library a short command does not load.

/** As SQL, whether a sweep succeeded and changed nothing. */
export const isQuiet =
  "state IN ('certified', 'refreshed') AND " +
  'inserted + updated + revived + tombstoned + vanished + quarantined = 0';
