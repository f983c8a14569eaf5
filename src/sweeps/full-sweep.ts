// A full sweep: it reads the list, verifies it, requests open numbers, and certifies. Its
// certificate states: no record that existed throughout the sweep is missing here, and no row is
// older than the sweep's start. No row is marked deleted if its record exists.

import {type RowLimit, readDeletionLimit} from '../accounts/settings.ts';
import {readStoredNumbers, type StoredNumbers} from '../rows/held-rows.ts';
import type {NumberSet} from '../rows/number-set.ts';
import {readOlderAgain, type SaveMissing} from './ask-numbers.ts';
import {type Evidence, findMissed} from './evidence.ts';
import {settleFields} from './fields.ts';
import {PageNumbers} from './pages.ts';
import {resolveUnnumbered} from './quarantine.ts';
import {describeListDoubts, type FirstPass, readFirstPass, readSeen} from './read-list.ts';
import {
  endRun,
  type Finished,
  markMissingDeleted,
  reportStep,
  type SweepRun,
  scopeOf,
} from './sweep-run.ts';
import {saveAnswers, saveSuspects} from './tombstones.ts';
import {type Findings, resolveOpenNumbers, type SecondPass, verifyList} from './verify-list.ts';

/**
 * Runs a full sweep to its end and writes that end.
 * @throws {RetryableError} the service or the database failed temporarily; the checkpoint stays
 */
export async function sweepFull(run: SweepRun): Promise<Finished> {
  const first = run.sweep.stage === 'read' ? await readFirstPass(run) : await restoreFirstPass(run);
  await readOlderAgain(run, saveMissing(run));
  // The stored numbers are read in parallel with the second pass. If a change writes a row
  // meanwhile, the sweep requests its record by its number.
  const readingNumbers = readStoredNumbers(run.deps.pool, run.sweep.accountId, run.stream.table);
  readingNumbers.catch(() => {});
  const ownLimit = await readDeletionLimit(run.deps.pool, scopeOf(run));
  if (first.seen.size === 0 && (await readingNumbers).live.size > 0)
    return await refuseEmpty(
      run,
      collectListEvidence(first, await readingNumbers, ownLimit),
      await readingNumbers,
    );
  const second = await verifyList(run, first);
  const storedNumbers = await readingNumbers;
  await reportStep(run, 'list-verified');
  const passes = {seen: first.seen, seenAgain: second.numbers, held: storedNumbers};
  const listEvidence = collectListEvidence(first, storedNumbers, ownLimit);
  const limit = listEvidence.tombstoneLimit;
  const findings = await resolveOpenNumbers(
    run,
    passes,
    run.stream.isDeletable ? limit : Number.POSITIVE_INFINITY,
  );
  await readOlderAgain(run, saveMissing(run));
  const evidence = {
    ...listEvidence,
    secondPass: collectSecondPass(first, second),
    ...findings.evidence,
  };
  const isStopped = findings.gone.size > limit && run.stream.isDeletable;
  return isStopped
    ? await stop(run, {evidence, findings})
    : await certify(run, {
        evidence,
        reasons: [...describeListDoubts(run, first), ...second.doubts, ...findings.doubts],
      });
}

/** Stores the service's answers that records are gone as evidence for their rows. */
function saveMissing(run: SweepRun): SaveMissing {
  return (client, {gone, requestedAt}) => saveAnswers(client, {...scopeOf(run), gone, requestedAt});
}

/** Restores the first pass, which an earlier run of this sweep has made. */
async function restoreFirstPass(run: SweepRun): Promise<FirstPass> {
  // The checkpoint that ended the stage of reading contains both.
  const {firstPass, sample} = run.sweep.evidence as Required<Evidence>;
  const {lastPage, endedBy} = firstPass;
  return {seen: await readSeen(run), pages: new PageNumbers(), lastPage, endedBy, sample};
}

function collectListEvidence(
  {lastPage, endedBy, seen, sample}: FirstPass,
  {live}: StoredNumbers,
  ownLimit: RowLimit | null,
) {
  const firstPass = {lastPage, endedBy, numbers: seen.size};
  return {
    firstPass,
    sample,
    liveRows: live.size,
    tombstoneLimit: tombstoneLimit(live.size, ownLimit),
  };
}

function collectSecondPass(
  first: FirstPass,
  second: SecondPass,
): NonNullable<Evidence['secondPass']> {
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
    const counts = await markMissingDeleted(client, run);
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
  stored: StoredNumbers,
): Promise<Finished> {
  const reason = `the first page of the list was empty, and ${stored.live.size} live rows are held`;
  if (!run.stream.isDeletable) return await certify(run, {evidence, reasons: [reason]});
  return await trip(run, {evidence, suspects: stored.live, reason});
}

// The breaker stops a mass deletion: a service that lost its records, or shows another business,
// must not empty a warehouse.

/** The sweep is stopped if it would mark more rows deleted than the larger of these two, ... */
const usualLimit = {rows: 50, percent: 2};
/**
 * ... or more than the larger of these two, so that a short list does not lose most of its rows
 * unnoticed.
 */
const shortListLimit = {rows: 3, percent: 10};

/**
 * How many rows one sweep may mark as deleted without a person's approval.
 * @param ownLimit - the limit that the account has set for the stream; null for the default
 */
export function tombstoneLimit(liveRows: number, ownLimit: RowLimit | null): number {
  const share = (percent: number) => Math.floor((liveRows * percent) / 100);
  if (ownLimit !== null) return 'rows' in ownLimit ? ownLimit.rows : share(ownLimit.percent);
  const larger = ({rows, percent}: typeof usualLimit) => Math.max(rows, share(percent));
  return Math.min(larger(usualLimit), larger(shortListLimit));
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
