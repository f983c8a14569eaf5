// The results of a run as a table, and the faults in them.

import {formatTable} from '../../../src/core/format.ts';
import {listViolations} from '../push/tally.ts';
import type {Options, Result} from './run.ts';
import {findGrowth} from './vitals.ts';

/** 0, 2, 3: reported, then started again. 1: stopped by a signal. Any other code is a bug. */
const knownCodes: ReadonlySet<number | null> = new Set([0, 1, 2, 3]);

/** One line for every fault; none when every promise was kept. */
export function listFaults(result: Result, name: string): string[] {
  const {quiet, different, ends, vitals, calamities, troubles} = result;
  const inDoubt = quiet.after.in_doubt ?? 0;
  return [
    ...listViolations(result.verdict, name),
    ...different.map((line) => `${name}: different: ${line}`),
    ...(quiet.isSettled ? [] : [`${name}: not settled: ${JSON.stringify(quiet.after)}`]),
    ...(inDoubt > 0 ? [`${name}: ${inDoubt} still in doubt`] : []),
    ...ends
      .filter(({code, said}) => !knownCodes.has(code) || said.includes('This is a bug'))
      .map(
        ({name: process, code, said}) =>
          `${name}: ${process} ended with ${code}: ${said.slice(-600)}`,
      ),
    ...vitals.map(findGrowth).flatMap((growth) => (growth === null ? [] : [`${name}: ${growth}`])),
    ...calamities.slowEnds.map((process) => `${name}: ${process} did not end within half a minute`),
    ...troubles.map((trouble) => `${name}: ${trouble}`),
  ];
}

export function formatResult(result: Result, {queue, minutes, seed}: Options): string {
  const {calamities: did, quiet, verdict, changes} = result;
  const rows: (string | number)[][] = [
    ['changes made in the warehouse', changes.length],
    ['edits made at the service', result.editsThere],
    ['kill -9', did.kills],
    ['stops (SIGSTOP), of them beyond every lease', `${did.stops}, ${did.longStops}`],
    ['restarts (SIGTERM)', did.restarts],
    ['losses of Postgres', did.postgresLosses],
    ['losses of Redis', did.redisLosses],
    ['losses of the service', did.serviceLosses],
    ['lines cut', did.linesDown],
    ['troubles on the lines', result.struck],
    ['workers that ended by themselves', describeEnds(result)],
    ['in doubt when the storm was over', quiet.before.in_doubt ?? 0],
    ['lost', verdict.lost.length],
    ['duplicated', verdict.duplicated.length],
    ['fields different', result.different.length + verdict.diverged.length],
    ['edits at the service between our reading and our writing', result.unseeable],
    ['in doubt at the end', quiet.after.in_doubt ?? 0],
    ['left to a person', verdict.leftToPerson.length],
    [
      'states',
      Object.entries(quiet.after)
        .map(([state, count]) => `${count} ${state}`)
        .join(', '),
    ],
    ['until all was settled', `${Math.round(quiet.seconds)} s`],
    ['statements of authors undone', result.refusals.length],
  ];
  const head = [`${minutes} min, queue in ${queue}, seed ${seed}`, ''];
  const vitals = result.vitals.map(({name, minutes: lived, megabytes, descriptors}) => [
    name,
    lived.toFixed(1),
    `${Math.round(megabytes.first)} → ${Math.round(megabytes.last)}`,
    megabytes.aMinute.toFixed(2),
    `${descriptors.first} → ${descriptors.last}`,
    descriptors.aMinute.toFixed(2),
  ]);
  const vitalsHead = [
    'longest life, warm',
    'minutes',
    'MB first → last',
    'MB a minute',
    'descriptors',
    'a minute',
  ];
  return `${formatTable(head, rows)}\n${formatTable(vitalsHead, vitals)}`;
}

function describeEnds({ends}: Result): string {
  const byCode = Map.groupBy(
    ends,
    ({name, code}) => `${name.startsWith('worker') ? 'worker' : name} with ${code}`,
  );
  return [...byCode].map(([what, lives]) => `${lives.length} ${what}`).join(', ') || '0';
}
