import type {Noted, Write} from './written.ts';

/**
 * Compares what a reader noted with what was committed.
 * @returns what is wrong; nothing where each write is there once, in an order in which no effect
 *   comes before its cause
 */
export function checkNoted(noted: readonly Noted[], committed: readonly Write[]): string[] {
  return [...checkSet(noted, committed), ...checkRows(noted), ...checkCauses(noted, committed)];
}

function checkSet(noted: readonly Noted[], committed: readonly Write[]): string[] {
  const wanted = new Set(committed.map(({token}) => token));
  const ids = new Set<string>();
  const tokens = new Set<string>();
  const wrong: string[] = [];
  for (const {id, token} of noted) {
    if (ids.has(id)) wrong.push(`entry ${id} was noted twice`);
    if (token === null || !wanted.has(token))
      wrong.push(`entry ${id} tells of ${token}, which was never committed`);
    else if (tokens.has(token)) wrong.push(`${token} is told twice`);
    ids.add(id);
    tokens.add(token ?? '');
  }
  return [
    ...wrong,
    ...[...wanted].filter((token) => !tokens.has(token)).map((token) => `${token} was skipped`),
  ];
}

/** Of one row each version follows the one before it. */
function checkRows(noted: readonly Noted[]): string[] {
  const latest = new Map<string, string | null>();
  return noted.flatMap(({id, rowId, before, token}) => {
    const held = latest.get(rowId ?? '');
    latest.set(rowId ?? '', token);
    return held === undefined || held === before
      ? []
      : [`entry ${id} of row ${rowId}: expected ${held} before, got ${before}`];
  });
}

/** A value that was read before a write was made is told before that write. */
function checkCauses(noted: readonly Noted[], committed: readonly Write[]): string[] {
  const places = new Map(noted.map(({token}, place) => [token, place]));
  return committed.flatMap(({token, cause}) => {
    const [own, its] = [places.get(token), cause === null ? undefined : places.get(cause)];
    const isLate = own !== undefined && its !== undefined && its > own;
    return isLate ? [`${token} is told before ${cause}, which its writer had read`] : [];
  });
}
