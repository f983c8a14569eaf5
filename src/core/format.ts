// Numbers and times for a person.

/** 1234567.5 becomes 1,234,567.5, by hand: the tables of languages take 15 ms to load. */
export function formatNumber(value: number): string {
  const [whole = '', fraction] = String(Math.round(value * 10) / 10).split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction}`;
}

/** How long something takes, in the two largest units: `3 h 20 min`. */
export function formatDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h${minutes % 60 === 0 ? '' : ` ${minutes % 60} min`}`;
  return `${Math.floor(hours / 24)} days`;
}

/**
 * How long something took, to the tenth of a second where that tells more than a whole one:
 * `2.1 s`.
 */
export function formatElapsed(ms: number): string {
  return ms < 9_950 ? `${formatNumber(ms / 1000)} s` : formatDuration(ms);
}

/** The largest unit alone, where a column has room for no more: `3 h`. */
export function formatRoughly(ms: number): string {
  const [number, unit] = formatDuration(Math.max(0, ms)).split(' ');
  return `${number} ${unit}`;
}

/** `2026-11-02 08:15:30 UTC` */
export function showSecond(instant: string): string {
  return `${instant.slice(0, 19).replace('T', ' ')} UTC`;
}

/** `in 3 min 20 s` @param now - by the clock that the instant is by */
export function formatAhead(instant: string, now: string): string {
  return `in ${formatDuration(Math.max(0, Date.parse(instant) - Date.parse(now)))}`;
}

/**
 * `3 min 20 s ago` @param now - by the clock that the instant is by; this machine's when it is left
 * out
 */
export function formatAgo(instant: string, now = new Date().toISOString()): string {
  return `${formatDuration(Math.max(0, Date.parse(now) - Date.parse(instant)))} ago`;
}

/** Characters of one value that a person is shown; JSON has all. */
const longest = 2_000;

/** A value as a person reads it: text in quotes, so that blanks and emptiness show. */
export function showValue(value: unknown): string {
  if (value === null || value === undefined) return '(empty)';
  const text = JSON.stringify(value);
  if (text.length <= longest) return text;
  return `${text.slice(0, longest)}… (${formatNumber(text.length)} characters; --json prints all)`;
}
