// A sweep in words, for the terminal and the console alike.

import {formatNumber} from '../core/format.ts';
import type {Asked, ListEnd} from './evidence.ts';
import {wideGap} from './open-numbers.ts';
import type {Sweep, SweepState} from './sweep.ts';
import type {Tombstone} from './tombstones.ts';

/** What each state says. */
export const sweepMeanings: Readonly<Record<SweepState, string>> = {
  due: 'A worker takes it up as soon as it can.',
  running: 'A worker reads the list.',
  certified:
    'No record that lived throughout the sweep is missing in the warehouse, and no row is older than its start.',
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

const endings: Readonly<Record<ListEnd, string>> = {
  'empty-page': 'which was empty',
  'whole-answer': 'the whole list in one answer',
  'repeated-page': 'which was the page before it once more',
  'nothing-new': 'which brought nothing new',
};

/** What the sweep saw and asked, a line each. */
export function tellEvidence({evidence}: Sweep): string[] {
  const {
    firstPass,
    sample,
    secondPass,
    missed,
    lost,
    unseen,
    quarantined,
    named,
    gaps,
    edges,
    absent,
  } = evidence;
  const questions: [string, Asked | undefined][] = [
    ['numbers that only the second pass saw', missed],
    ['numbers that only the first pass saw', lost],
    ['live rows that no pass saw', unseen],
    ['records in quarantine that no pass saw', quarantined],
    ['numbers that other records name and no list showed', named],
    ['numbers inside the known range that were never seen', gaps],
    ['numbers just outside it', edges],
  ];
  return [
    ...(absent === undefined
      ? []
      : [`the service has none of that number: ${absent.status} "${absent.words}"`]),
    ...(firstPass === undefined
      ? []
      : [
          `first pass: ${formatNumber(firstPass.numbers)} records up to page ${formatNumber(firstPass.lastPage)}, ${endings[firstPass.endedBy]}`,
        ]),
    ...(sample === undefined || sample.records === 0
      ? []
      : [
          `compared by what rows hold: ${formatNumber(sample.records)} known records${sample.isWhole ? ', all there are' : ''}; ${formatNumber(sample.altered)} rows held something else, and were put right`,
        ]),
    ...(secondPass === undefined
      ? []
      : [
          `second pass: ${formatNumber(secondPass.numbers)} numbers on ${formatNumber(secondPass.pages)} pages, ${secondPass.isQuiet ? 'every page as before' : 'the list had moved'}`,
        ]),
    ...questions.flatMap(([what, asked]) =>
      asked === undefined || asked.asked === 0
        ? []
        : [
            `asked for ${formatNumber(asked.asked)} ${what}: ${formatNumber(asked.found)} found, ${formatNumber(asked.gone)} gone`,
          ],
    ),
    ...(gaps?.sampled
      ? [
          `${formatNumber(gaps.sampled)} numbers that were never seen stand in gaps of more than ${formatNumber(wideGap)}: a sample of each was asked for, once`,
        ]
      : []),
  ];
}

/** What the sweep counted, a line each. */
export function tellCounts({counts}: Sweep): string[] {
  return [
    `in all: ${formatNumber(counts.requests)} requests, ${formatNumber(counts.bytes)} bytes`,
    `records: ${formatNumber(counts.records)}, of them ${formatNumber(counts.known)} known byte for byte`,
    `rows: ${formatNumber(counts.inserted)} new, ${formatNumber(counts.updated)} changed, ${formatNumber(counts.unchanged)} unchanged, ${formatNumber(counts.revived)} came back, ${formatNumber(counts.tombstoned)} marked deleted; ${formatNumber(counts.vanished)} children vanished; ${formatNumber(counts.quarantined)} in quarantine`,
  ];
}

/** What became of a row that is gone. */
export function describeTombstone({writtenAt, undoneAt}: Tombstone): string {
  if (writtenAt === null) return 'not marked';
  return undoneAt === null ? `marked deleted ${writtenAt}` : `came back ${undoneAt}`;
}
