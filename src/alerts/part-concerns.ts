import {formatDuration} from '../core/format.ts';
import {boundsOf, type PartHealth, type PartName, parts} from '../health/heartbeats.ts';
import type {Concern} from './concerns.ts';

/** How the background parts of live workers fare. */
export interface PartFacts {
  readonly parts: readonly PartHealth[];
  /**
   * The sessions that Fieldmirror waits for at the moment, in words; read where a part is late
   * alone.
   */
  readonly waitsFor: readonly string[];
}

/**
 * The parts that have had no good round for longer than they may, whatever the cause. @param now -
 * ISO 8601, by the database's clock
 */
export function listLateParts(facts: readonly PartHealth[], now: string): PartHealth[] {
  return facts.filter((health) => {
    const {part, goodAt, begunAt, lastError} = health;
    if (!isPart(part)) return false;
    const {lateMs, longestMs = 0} = boundsOf(part);
    const isWorking = lastError === null && begunAt !== null && ageOf(begunAt, now) <= longestMs;
    return ageOf(goodAt, now) > lateMs && !isWorking;
  });
}

/**
 * Finds the parts that need a person: one concern for each part, of the worker where it is late for
 * longest.
 */
export function findLateParts({parts: facts, waitsFor}: PartFacts, now: string): Concern[] {
  const late = new Map<PartName, PartHealth>();
  for (const health of listLateParts(facts, now).toReversed())
    if (isPart(health.part)) late.set(health.part, health);
  return [...late].map(([part, health]) => ({
    ...{account: null, stream: null, kind: 'part-late', subject: part, since: health.goodAt},
    text: describe(part, health, {waitsFor, now}),
    next: nextOf(waitsFor),
  }));
}

function describe(
  part: PartName,
  {host, pid, goodAt, begunAt, lastError}: PartHealth,
  {waitsFor, now}: {readonly waitsFor: readonly string[]; readonly now: string},
): string {
  const place = host === null ? '' : ` on ${host}, pid ${pid},`;
  const causes = [
    ...(waitsFor.length === 0 ? [] : [`Fieldmirror waits for ${waitsFor.join(' and ')}`]),
    ...(lastError === null ? [] : [`the last try failed: ${lastError}`]),
    ...(lastError === null && begunAt !== null
      ? [`a round began ${formatDuration(ageOf(begunAt, now))} ago and does not end`]
      : []),
  ];
  const why = causes.length === 0 ? 'no round has begun since' : causes.join('; ');
  const {what} = boundsOf(part);
  return `${what} (part ${part} of the worker)${place} has stood still for ${formatDuration(ageOf(goodAt, now))}: ${why}`;
}

function nextOf(waitsFor: readonly string[]): string {
  const [pid] = /pid (\d+)/.exec(waitsFor[0] ?? '')?.slice(1) ?? [];
  return pid === undefined
    ? "the worker's log says more; a new fieldmirror start begins every part again"
    : `it goes on when that transaction ends, or after SELECT pg_terminate_backend(${pid})`;
}

function ageOf(instant: string, now: string): number {
  return Math.max(0, Date.parse(now) - Date.parse(instant));
}

/** Another version may note parts that this one does not know. */
function isPart(part: string): part is PartName {
  return Object.hasOwn(parts, part);
}
