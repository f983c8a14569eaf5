// Memory and file descriptors of processes over time. Only Linux tells them.

import {readdir, readFile} from 'node:fs/promises';

export interface Sample {
  readonly atMs: number;
  readonly megabytes: number;
  readonly descriptors: number;
}

/** The use of one process, from its warm-up to its end. */
export interface Vitals {
  readonly name: string;
  readonly minutes: number;
  readonly megabytes: {readonly first: number; readonly last: number; readonly aMinute: number};
  readonly descriptors: {readonly first: number; readonly last: number; readonly aMinute: number};
}

/** The first work of a process takes memory that it keeps. */
const warmUpMs = 60_000;
/** Garbage comes and goes in waves of up to so many minutes. */
const waveMinutes = 8;
/** A shorter life has no telling slope: each of the thirds compared must hold a wave. */
export const tellingMinutes = 3 * waveMinutes;
/** Above these values a process that lived long enough grows. */
export const mostAMinute = {megabytes: 2, descriptors: 0.5} as const;

export class VitalSigns {
  readonly #samples = new Map<string, Sample[]>();

  async take(
    processes: readonly {readonly name: string; readonly pid: number | null}[],
  ): Promise<void> {
    await Promise.all(
      processes.map(async ({name, pid}) => {
        const sample = pid === null ? null : await look(pid);
        if (sample === null) return;
        const key = `${name} ${pid}`;
        const samples = this.#samples.get(key) ?? [];
        this.#samples.set(key, samples);
        samples.push(sample);
      }),
    );
  }

  /** The longest life of each process. */
  tell(): Vitals[] {
    const longest = new Map<string, Sample[]>();
    for (const [key, samples] of this.#samples) {
      const name = key.replace(/ \d+$/, '');
      if (lengthOf(samples) >= lengthOf(longest.get(name) ?? [])) longest.set(name, samples);
    }
    return [...longest].map(([name, samples]) => describeLife(name, samples));
  }
}

/**
 * The growth of a process, in a sentence; null when there is none, or it lived too briefly to tell.
 */
export function findGrowth({name, minutes, megabytes, descriptors}: Vitals): string | null {
  if (minutes < tellingMinutes) return null;
  const grown = [
    ...(megabytes.aMinute > mostAMinute.megabytes ? [`${megabytes.aMinute.toFixed(1)} MB`] : []),
    ...(descriptors.aMinute > mostAMinute.descriptors
      ? [`${descriptors.aMinute.toFixed(1)} descriptors`]
      : []),
  ];
  return grown.length === 0 ? null : `${name} grows by ${grown.join(' and ')} a minute`;
}

/** @param samples - in order, from the process' first moment */
export function describeLife(name: string, samples: readonly Sample[]): Vitals {
  const bornAt = samples[0]?.atMs ?? 0;
  const warm = samples.filter(({atMs}) => atMs - bornAt >= warmUpMs);
  const told = warm.length > 1 ? warm : samples;
  const of = (kind: 'megabytes' | 'descriptors') => ({
    first: told[0]?.[kind] ?? Number.NaN,
    last: told.at(-1)?.[kind] ?? Number.NaN,
    aMinute: riseOf(told.map((sample) => ({atMs: sample.atMs, value: sample[kind]}))),
  });
  return {
    name,
    minutes: lengthOf(told) / 60_000,
    megabytes: of('megabytes'),
    descriptors: of('descriptors'),
  };
}

function lengthOf(samples: readonly Sample[]): number {
  return (samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0);
}

/**
 * Garbage comes and goes in waves of minutes; memory kept for good is the least of many waves. So
 * the lowest of the last third is compared with the lowest of the first one.
 * @returns by how much it rose in a minute
 */
function riseOf(points: readonly {readonly atMs: number; readonly value: number}[]): number {
  const beginMs = points[0]?.atMs ?? 0;
  const thirdMs = ((points.at(-1)?.atMs ?? 0) - beginMs) / 3;
  if (thirdMs === 0) return 0;
  const lowest = (third: 0 | 2) =>
    Math.min(
      ...points
        .filter(({atMs}) => Math.min(2, Math.floor((atMs - beginMs) / thirdMs)) === third)
        .map(({value}) => value),
    );
  return ((lowest(2) - lowest(0)) * 60_000) / (2 * thirdMs);
}

async function look(pid: number): Promise<Sample | null> {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    const descriptors = (await readdir(`/proc/${pid}/fd`)).length;
    const kilobytes = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]);
    return Number.isNaN(kilobytes)
      ? null
      : {atMs: performance.now(), megabytes: kilobytes / 1024, descriptors};
  } catch {
    return null;
  }
}
