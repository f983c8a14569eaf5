import type {NumberSet} from '../core/number-set.ts';
import {endsOf} from './open-numbers.ts';
import type {FirstPass} from './read-list.ts';
import type {SweepRun} from './sweep-run.ts';

/**
 * The reasons why a list was not read as a whole: its end is not known, or records in it were
 * refused.
 */
export function doubtsOfList(
  {tally, stream}: Pick<SweepRun, 'tally' | 'stream'>,
  {endedBy, lastPage, sample}: Pick<FirstPass, 'endedBy' | 'lastPage' | 'sample'>,
): string[] {
  const {quarantined} = tally.counts;
  return [
    ...(endedBy === 'repeated-page'
      ? [`page ${lastPage} was the page before it once more: nobody knows where the list ends`]
      : []),
    ...(endedBy === 'nothing-new'
      ? [`the list went on, up to page ${lastPage}, with records that were known already`]
      : []),
    ...(sample.altered > 0 && !sample.isWhole
      ? [
          `${sample.altered} rows of a sample of ${sample.records} records held something else than the service had sent, though nothing had said that they were changed: they hold it again, and the next sweep compares all`,
        ]
      : []),
    ...(quarantined > 0
      ? [
          `${quarantined} records of ${stream.name} could not be read or taken: fieldmirror quarantine list`,
        ]
      : []),
  ];
}

/**
 * Records beyond the ends of a list that are no sign of a cap: born meanwhile, or of a kind that
 * the list leaves out.
 */
const usualBeyond = {least: 5, share: 0.1};

/**
 * The reason why a list is taken to end before its end, at a cap: more records live outside of the
 * numbers that it showed than births or records of another kind explain. They were read by their
 * number; what lies further out is not proven.
 */
export function doubtsOfCap({
  seen,
  seenAgain,
  lives,
}: Readonly<Record<'seen' | 'seenAgain' | 'lives', NumberSet>>): string[] {
  const shown = seen.union(seenAgain);
  const {lowest, highest} = endsOf(shown);
  let beyond = 0;
  for (const number of lives.asNumbers()) if (number > highest || number < lowest) beyond++;
  if (beyond <= Math.max(usualBeyond.least, shown.size * usualBeyond.share)) return [];
  return [
    `the list showed ${shown.size} records, from ${lowest} to ${highest}, and ${beyond} more live outside of these numbers: the service seems to end the list at a cap. Those were read by their number, others may be missing: ask who runs the service how long a list may be`,
  ];
}
