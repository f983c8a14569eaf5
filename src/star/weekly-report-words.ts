// The sentences of the weekly report that the page and the text share.

import {formatDuration, showSecond} from '../core/format.ts';
import type {Report} from './report.ts';
import type {Restated, RestatedJob} from './report-restated.ts';
import {show} from './report-values.ts';

const tooOldMs = 86_400_000;

/** Why a report should not be made from data of this age; null where it may. */
export function tellAge({freshAsOf, ageMs}: Pick<Report, 'freshAsOf' | 'ageMs'>): string | null {
  if (freshAsOf === null || ageMs === null) return 'the jobs were never proven complete';
  return ageMs <= tooOldMs ? null : `the jobs were proven complete ${formatDuration(ageMs)} ago`;
}

export function tellFreshness({freshAsOf, ageMs}: Pick<Report, 'freshAsOf' | 'ageMs'>): string {
  if (freshAsOf === null || ageMs === null) return 'Never proven complete.';
  return `Proven complete as of ${showSecond(freshAsOf)}, ${formatDuration(ageMs)} before this report.`;
}

/** What earlier reports told otherwise, with the jobs behind it. */
export function tellRestated(report: Pick<Report, 'restated' | 'figures'>): readonly string[] {
  return report.restated.map((one) => {
    const label = report.figures.find(({metric}) => metric === one.metric)?.label ?? one.metric;
    const jobs =
      one.jobs.length === 0 ? '' : ` (${one.jobs.map((job) => tellJob(one, job)).join('; ')})`;
    return `${label}, week of ${one.week}: reported as ${show(one.reported)}, is ${show(one.now)}${jobs}.`;
  });
}

function tellJob({metric}: Restated, {jobNumber, reported, now}: RestatedJob): string {
  if (reported === null)
    return metric === 'completed'
      ? `job ${jobNumber} came`
      : `job ${jobNumber} came with ${show(now)}`;
  if (now === null)
    return metric === 'completed'
      ? `job ${jobNumber} went`
      : `job ${jobNumber} went with ${show(reported)}`;
  return `job ${jobNumber} from ${show(reported)} to ${show(now)}`;
}

export function tellFindings({findings}: Pick<Report, 'findings'>): readonly string[] {
  return findings.map(
    ({name, words, count}) => `${name}, ${count} ${count === 1 ? 'time' : 'times'}: ${words}`,
  );
}
