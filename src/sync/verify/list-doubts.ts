import type {FirstPass} from '../load/read-list.ts';
import type {SweepRun} from '../sweep/sweep-run.ts';

/** The reasons why a list was not read as a whole: its end is not known, or records in it were refused. */
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
      ? [`${quarantined} records of ${stream.name} could not be read or taken: fieldmirror quarantine list`]
      : []),
  ];
}
