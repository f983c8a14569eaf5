// Sweeps that changed nothing. Most sweeps are like that; lists fold them and retention removes
// some. This is separate from the tables, so that a short command does not load their library.

/** As SQL, whether a sweep succeeded and changed nothing. */
export const isQuiet =
  "state IN ('certified', 'refreshed') AND " +
  'inserted + updated + revived + tombstoned + vanished + quarantined = 0';
