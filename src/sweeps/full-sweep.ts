// A full sweep: it reads the list, verifies it, requests open numbers, and certifies. Its
// certificate states: no record that existed throughout the sweep is missing here, and no row is
// older than the sweep's start. No row is marked deleted if its record exists.

import {type RowLimit, readDeletionLimit} from '../accounts/settings.ts';
import {type HeldNumbers, readHeldNumbers} from '../rows/held-numbers.ts';
import type {NumberSet} from '../rows/number-set.ts';
import {settleFields} from '../star/remember-fields.ts';
import {readOlderAgain, type SaveGone} from './ask-numbers.ts';
import {findMissed} from './open-numbers.ts';
import {PageNumbers} from './pages.ts';
import {resolveUnnumbered} from './quarantine.ts';
import {doubtsOfList, type FirstPass, readFirstPass, readSeen} from './read-list.ts';
import {endRun, type Finished, markGone, pass, type SweepRun, scopeOf} from './sweep-run.ts';
import type {Evidence} from './tables.ts';
import {saveAnswers, saveSuspects} from './tombstones.ts';
import {type Findings, resolveOpenNumbers, type SecondPass, verifyList} from './verify-list.ts';

const noSample = {records: 0, altered: 0, isWhole: false};

/**
 * Runs a full sweep to its end and writes that end.
 * @throws {RetryableError} the service or the database failed temporarily; the checkpoint stays
 */
export async function sweepFull(run: SweepRun): Promise<Finished> {
  const first = run.sweep.stage === 'read' ? await readFirstPass(run) : await recallList(run);
  await readOlderAgain(run, saveGone(run));
  // The stored numbers are read in parallel with the second pass. If a change writes a row
  // meanwhile, the sweep requests its record by its number.
  const reading = readHeldNumbers(run.deps.pool, run.sweep.accountId, run.stream.table);
  reading.catch(() => {});
  const set = await readDeletionLimit(run.deps.pool, scopeOf(run));
  if (first.seen.size === 0 && (await reading).live.size > 0)
    return await refuseEmpty(run, describeFirst(first, await reading, set), await reading);
  const second = await verifyList(run, first);
  const held = await reading;
  await pass(run, 'list-verified');
  const passes = {seen: first.seen, seenAgain: second.numbers, held};
  const about = describeFirst(first, held, set);
  const limit = about.tombstoneLimit;
  const findings = await resolveOpenNumbers(
    run,
    passes,
    run.stream.isDeletable ? limit : Number.POSITIVE_INFINITY,
  );
  await readOlderAgain(run, saveGone(run));
  const evidence = {...about, secondPass: describeSecond(first, second), ...findings.evidence};
  const isStopped = findings.gone.size > limit && run.stream.isDeletable;
  return isStopped
    ? await stop(run, {evidence, findings})
    : await certify(run, {
        evidence,
        reasons: [...doubtsOfList(run, first), ...second.doubts, ...findings.doubts],
      });
}

/** Stores the service's answers that records are gone as evidence for their rows. */
function saveGone(run: SweepRun): SaveGone {
  return (client, {gone, askedAt}) => saveAnswers(client, {...scopeOf(run), gone, askedAt});
}

/** Restores the first pass, if an earlier run of this sweep has made it. */
async function recallList(run: SweepRun): Promise<FirstPass> {
  const {firstPass, sample = noSample} = run.sweep.evidence;
  const {lastPage = 1, endedBy = 'nothing-new'} = firstPass ?? {};
  return {seen: await readSeen(run), pages: new PageNumbers(), lastPage, endedBy, sample};
}

function describeFirst(
  {lastPage, endedBy, seen, sample}: FirstPass,
  {live}: HeldNumbers,
  set: RowLimit | null,
) {
  const firstPass = {lastPage, endedBy, numbers: seen.size};
  return {firstPass, sample, liveRows: live.size, tombstoneLimit: tombstoneLimit(live.size, set)};
}

function describeSecond(first: FirstPass, second: SecondPass): NonNullable<Evidence['secondPass']> {
  const missed = findMissed({seen: first.seen, seenAgain: second.numbers}).size;
  return {pages: second.pages, numbers: second.numbers.size, missed, isQuiet: second.isQuiet};
}

/** Writes the tombstones, their evidence and the sweep's end in one transaction. */
async function certify(
  run: SweepRun,
  {evidence, reasons}: {readonly evidence: Evidence; readonly reasons: readonly string[]},
): Promise<Finished> {
  const state = reasons.length === 0 ? 'certified' : 'uncertified';
  const {known, records} = run.tally.counts;
  return await endRun(run, {state, reasons, evidence}, async (client) => {
    const counts = await markGone(client, run);
    const wroteRows = known < records || counts.tombstoned > 0;
    if (state === 'certified') await resolveUnnumbered(client, scopeOf(run));
    await settleFields(client, {...scopeOf(run), parsedAll: known === 0, wroteRows});
    return counts;
  });
}

/**
 * Stops the sweep, because too many rows are gone to be plausible. None is marked deleted; the rows
 * that would be are listed.
 */
async function stop(
  run: SweepRun,
  {evidence, findings}: {readonly evidence: Evidence; readonly findings: Findings},
): Promise<Finished> {
  const {gone, suspects} = findings;
  const reason =
    `${gone.size} of ${evidence.liveRows} live rows no longer exist at the service, ` +
    `${suspects.size} more are not in its list, ` +
    `and one sweep may mark ${evidence.tombstoneLimit} deleted`;
  return await trip(run, {evidence, suspects, reason});
}

/**
 * Handles a list that is suddenly empty: it is not believed, and its missing records are not even
 * requested.
 */
async function refuseEmpty(
  run: SweepRun,
  evidence: Evidence,
  held: HeldNumbers,
): Promise<Finished> {
  const reason = `the first page of the list was empty, and ${held.live.size} live rows are held`;
  if (!run.stream.isDeletable) return await certify(run, {evidence, reasons: [reason]});
  return await trip(run, {evidence, suspects: held.live, reason});
}

// The breaker stops a mass deletion: a service that lost its records, or shows another business,
// must not empty a warehouse.

/** The sweep is stopped if it would mark more rows deleted than the larger of these two, ... */
const usual = {rows: 50, percent: 2};
/**
 * ... or more than the larger of these two, so that a short list does not lose most of its rows
 * unnoticed.
 */
const ofShortList = {rows: 3, percent: 10};

/**
 * How many rows one sweep may mark as deleted without a person's approval.
 * @param set - the limit that the account has set for the stream; null for the default
 */
export function tombstoneLimit(liveRows: number, set: RowLimit | null): number {
  const share = (percent: number) => Math.floor((liveRows * percent) / 100);
  if (set !== null) return 'rows' in set ? set.rows : share(set.percent);
  const larger = ({rows, percent}: typeof usual) => Math.max(rows, share(percent));
  return Math.min(larger(usual), larger(ofShortList));
}

/**
 * Ends a sweep as stopped: no row is marked deleted, and the rows that would be are listed for a
 * person.
 */
async function trip(
  run: SweepRun,
  stopped: {readonly evidence: Evidence; readonly suspects: NumberSet; readonly reason: string},
): Promise<Finished> {
  const {evidence, suspects, reason} = stopped;
  return await endRun(run, {state: 'stopped', reasons: [reason], evidence}, async (client) => {
    await saveSuspects(client, {...scopeOf(run), numbers: [...suspects]});
    return {};
  });
}
