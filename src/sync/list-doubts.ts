import type {FirstPass} from './read-list.ts';
import type {SweepRun} from './sweep-run.ts';

/** What keeps a list from having been read as a whole: where it ends is not known, or records in it were refused. */
export function doubtsOfList(
  {tally, stream}: Pick<SweepRun, 'tally' | 'stream'>,
  {endedBy, lastPage}: Pick<FirstPass, 'endedBy' | 'lastPage'>,
): string[] {
  const {quarantined} = tally.counts;
  return [
    ...(endedBy === 'repeated-page'
      ? [`page ${lastPage} was the page before it once more: nobody knows where the list ends`]
      : []),
    ...(endedBy === 'nothing-new'
      ? [`the list went on, up to page ${lastPage}, with records that were known already`]
      : []),
    ...(quarantined > 0
      ? [`${quarantined} records of ${stream.name} could not be read or taken: fieldmirror quarantine list`]
      : []),
  ];
}
