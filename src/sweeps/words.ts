// Describes a sweep in words, for the terminal and the console: as a whole, and as steps. Steps are
// derived from the moments that its rows store. If the beginning or end of a step is not stored, it
// is null here: nothing is guessed.

import {formatElapsed, formatNumber} from '../core/format.ts';
import {type AskedCounts, type ListEnd, wideGap} from './evidence.ts';
import type {SweepStory} from './story.ts';
import type {Sweep, SweepState} from './sweeps.ts';
import type {Tombstone} from './tombstones.ts';

/** The meaning of each state. */
export const sweepMeanings: Readonly<Record<SweepState, string>> = {
  due: 'A worker takes it up as soon as it can; not while its account is paused or stopped.',
  running: 'A worker reads the list.',
  certified:
    'No record that lived throughout the sweep is missing in the warehouse, ' +
    'and no row is older than its start.',
  refreshed: 'Everything that its filter lets through was read; of the rest nothing is proven.',
  uncertified: 'It came to its end, and not everything is proven.',
  stopped: 'It would mark unusually many rows deleted: a person decides.',
  failed: 'It did not come to its end.',
};

/** `jobs`, `jobs, window today` or `jobs 12` */
export function describeTarget({stream, mode, windowName, recordNumber}: Sweep): string {
  if (mode === 'full') return stream;
  return mode === 'window' ? `${stream}, window ${windowName}` : `${stream} ${recordNumber}`;
}

const endDescriptions: Readonly<Record<ListEnd, string>> = {
  'empty-page': 'which was empty',
  'whole-answer': 'the whole list in one answer',
  'repeated-page': 'which repeated the page before it',
  'nothing-new': 'which brought nothing new',
};

/** Describes the evidence of the sweep, one line each. */
export function describeEvidence({evidence}: Sweep): string[] {
  return [...describePasses(evidence), ...describeRequestedNumbers(evidence)];
}

function describePasses({absent, firstPass, sample, secondPass}: Sweep['evidence']): string[] {
  return [
    ...(absent === undefined
      ? []
      : [`the service has none of that number: ${absent.status} "${absent.message}"`]),
    ...(firstPass === undefined
      ? []
      : [
          `first pass: ${formatNumber(firstPass.numbers)} records up to page ` +
            `${formatNumber(firstPass.lastPage)}, ${endDescriptions[firstPass.endedBy]}`,
        ]),
    ...(sample === undefined || sample.records === 0
      ? []
      : [
          `compared by what rows hold: ${formatNumber(sample.records)} known records` +
            `${sample.isWhole ? ', all there are' : ''}; ` +
            `${formatNumber(sample.altered)} rows held something else, and were put right`,
        ]),
    ...(secondPass === undefined
      ? []
      : [
          `second pass: ${formatNumber(secondPass.numbers)} numbers on ` +
            `${formatNumber(secondPass.pages)} pages, ` +
            (secondPass.isQuiet ? 'every page as before' : 'the list had moved'),
        ]),
  ];
}

function describeRequestedNumbers(evidence: Sweep['evidence']): string[] {
  const {gaps} = evidence;
  const requestedNumbers: [string, AskedCounts | undefined][] = [
    ['numbers that only the second pass saw', evidence.missed],
    ['numbers that only the first pass saw', evidence.lost],
    ['live rows that no pass saw', evidence.unseen],
    ['records in quarantine that no pass saw', evidence.quarantined],
    ['numbers that other records name and no list showed', evidence.named],
    ['numbers inside the known range that were never seen', gaps],
    ['numbers just outside it', evidence.edges],
  ];
  return [
    ...requestedNumbers.flatMap(([description, counts]) =>
      counts === undefined || counts.asked === 0
        ? []
        : [
            `requested ${formatNumber(counts.asked)} ${description}: ` +
              `${formatNumber(counts.found)} found, ${formatNumber(counts.gone)} gone`,
          ],
    ),
    ...(gaps?.sampled
      ? [
          `${formatNumber(gaps.sampled)} numbers that were never seen are in gaps of more than ` +
            `${formatNumber(wideGap)}: a sample of each was requested, once`,
        ]
      : []),
  ];
}

/** Describes the counts of the sweep, one line each. */
export function describeCounts({counts}: Sweep): string[] {
  const {requests, bytes, records, known} = counts;
  const rowCounts = [
    `${formatNumber(counts.inserted)} new`,
    `${formatNumber(counts.updated)} changed`,
    `${formatNumber(counts.unchanged)} unchanged`,
    `${formatNumber(counts.revived)} came back`,
    `${formatNumber(counts.tombstoned)} marked deleted`,
  ];
  const otherCounts = [
    `${formatNumber(counts.vanished)} children vanished`,
    `${formatNumber(counts.quarantined)} in quarantine`,
  ];
  return [
    `in all: ${formatNumber(requests)} requests, ${formatNumber(bytes)} bytes`,
    `records: ${formatNumber(records)}, of them ${formatNumber(known)} known byte for byte`,
    `rows: ${[rowCounts.join(', '), ...otherCounts].join('; ')}`,
  ];
}

/** Describes whether a row whose record is gone was marked deleted, or came back. */
export function describeTombstone({writtenAt, undoneAt}: Tombstone): string {
  if (writtenAt === null) return 'not marked';
  return undoneAt === null ? `marked deleted ${writtenAt}` : `came back ${undoneAt}`;
}

/** One step of a sweep. Instants are ISO 8601. */
export interface Step {
  readonly step: string;
  /** Null if it is not stored. */
  readonly from: string | null;
  /** Null if it is not stored, or the step is running. */
  readonly to: string | null;
  readonly isUnderWay: boolean;
  /** The work done in it, in words; empty if no row shows it. */
  readonly text: string;
  /** How many seconds it usually takes; null if that is not known. */
  readonly usualSeconds: number | null;
}

const endedStep = {isUnderWay: false, usualSeconds: null} as const;

/** The steps in the order in which they happen. */
export function listSteps(story: SweepStory): Step[] {
  const {sweep} = story;
  return [
    ...listWaiting(story),
    ...(sweep.startedAt === null
      ? []
      : sweep.mode === 'full'
        ? listFull(story)
        : [describeWhole(story)]),
    ...listApproved(story),
  ];
}

/**
 * How long a step took, or has taken so far, in milliseconds; null if that is not known.
 * @param now - ISO 8601
 */
export function measureStepMs({from, to, isUnderWay}: Step, now: string): number | null {
  if (from === null || (to === null && !isUnderWay)) return null;
  return Math.max(0, Date.parse(to ?? now) - Date.parse(from));
}

/**
 * Describes the steps, one line each: `read: 2.1 s, usually 2 s`. Steps of unknown length are left
 * out.
 */
export function describeSteps(story: SweepStory, now: string): string[] {
  return listSteps(story).flatMap((step) => {
    const ms = measureStepMs(step, now);
    if (ms === null) return [];
    const usualText =
      step.usualSeconds === null ? '' : `, usually ${formatElapsed(step.usualSeconds * 1_000)}`;
    return [`${step.step}: ${formatElapsed(ms)}${step.isUnderWay ? ' so far' : ''}${usualText}`];
  });
}

/**
 * Lists the wait for a worker. A failed attempt moves the moment from which a sweep is due: then
 * the time of its request is not stored.
 */
function listWaiting({sweep: {dueAt, startedAt, state}}: SweepStory): Step[] {
  if (startedAt === null)
    return state === 'due'
      ? [
          {
            ...endedStep,
            step: 'waits for a worker',
            from: dueAt,
            to: null,
            isUnderWay: true,
            text: '',
          },
        ]
      : [];
  if (Date.parse(dueAt) >= Date.parse(startedAt)) return [];
  return [{...endedStep, step: 'waited for a worker', from: dueAt, to: startedAt, text: ''}];
}

/** A sweep of one pass, or of one record. */
function describeWhole({sweep, usual}: SweepStory): Step {
  const {startedAt, endedAt, mode} = sweep;
  return {
    step: mode === 'record' ? 'asked' : 'read',
    from: startedAt,
    to: endedAt,
    isUnderWay: endedAt === null,
    text: describeRequests(sweep),
    usualSeconds: usual?.seconds ?? null,
  };
}

function listFull(story: SweepStory): Step[] {
  const {sweep, usual} = story;
  const {startedAt, endedAt, evidence, stage, approvedAt} = sweep;
  const readAt = evidence.readAt ?? null;
  const isReading = stage === 'read' && endedAt === null;
  if (readAt === null && !isReading) {
    // An approved sweep has another end. If a sweep ended before `readAt` was stored, only its
    // whole duration is known.
    const to = approvedAt === null ? endedAt : null;
    const step = 'read and verified';
    const isUnderWay = approvedAt === null && endedAt === null;
    return [
      {
        step,
        from: startedAt,
        to,
        isUnderWay,
        text: describeRequests(sweep),
        usualSeconds: usual?.seconds ?? null,
      },
      ...listAsked(story),
    ];
  }
  const nextPageText = isReading ? `, page ${formatNumber(sweep.nextPage)} is next` : '';
  const readStep = {
    step: 'read',
    from: startedAt,
    to: readAt,
    isUnderWay: isReading,
    text: `${describeRequests(sweep)}${nextPageText}`,
    usualSeconds: usual?.readSeconds ?? null,
  };
  if (readAt === null) return [readStep];
  const verifyStep = {
    step: 'verified',
    from: readAt,
    to: approvedAt === null ? endedAt : null,
    isUnderWay: endedAt === null && approvedAt === null,
    text: describeVerified(story),
    usualSeconds:
      usual === null || usual.readSeconds === null
        ? null
        : Math.max(0, usual.seconds - usual.readSeconds),
  };
  return [readStep, verifyStep, ...listAsked(story)];
}

/**
 * Requests whose answer was that the record is gone. The times of other answers are not stored, nor
 * the first times of records that an approved sweep requested again.
 */
function listAsked({sweep: {approvedAt}, tombstones}: SweepStory): Step[] {
  if (approvedAt !== null) return [];
  const answerTimes = tombstones
    .flatMap(({requestedAt}) => (requestedAt === null ? [] : [requestedAt]))
    .toSorted();
  const [from] = answerTimes;
  if (from === undefined) return [];
  const text =
    answerTimes.length === 1 ? '1 answer' : `${formatNumber(answerTimes.length)} answers`;
  return [
    {...endedStep, step: 'found missing records', from, to: answerTimes.at(-1) ?? from, text},
  ];
}

function listApproved({sweep: {approvedAt, endedAt}, tombstones}: SweepStory): Step[] {
  if (approvedAt === null) return [];
  return [
    {
      ...endedStep,
      step: 'waited for a person',
      from: null,
      to: approvedAt,
      text: 'when it was stopped is not kept',
    },
    {
      ...endedStep,
      step: 'requested again, and marked what is missing',
      from: approvedAt,
      to: endedAt,
      isUnderWay: endedAt === null,
      text: describeMarked(tombstones),
    },
  ];
}

function describeMarked(tombstones: readonly Tombstone[]): string {
  const count = tombstones.filter(({writtenAt}) => writtenAt !== null).length;
  return count === 1 ? '1 row marked deleted' : `${formatNumber(count)} rows marked deleted`;
}

function describeRequests({
  counts: {requests, pages, records},
  failures,
}: SweepStory['sweep']): string {
  const failedText =
    failures === 0 ? '' : `, ${formatNumber(failures)} tries failed since the last batch`;
  return (
    `${formatNumber(records)} records on ${formatNumber(pages)} pages, ` +
    `${formatNumber(requests)} requests in all${failedText}`
  );
}

function describeVerified({sweep: {counts, evidence}}: SweepStory): string {
  const {secondPass} = evidence;
  const passParts =
    secondPass === undefined ? [] : [`second pass over ${formatNumber(secondPass.pages)} pages`];
  const requestParts =
    counts.asked === 0 ? [] : [`${formatNumber(counts.asked)} records requested by number`];
  return [...passParts, ...requestParts].join(', ');
}
