import type {BackgroundPart, BackgroundSurroundings} from '../../jobs/background.ts';
import type {Config} from '../core/config.ts';
import {Rounds} from '../core/rounds.ts';
import {type AlertDeps, makeAlertRounds} from './alert-rounds.ts';

const reportsEveryMs = 60_000;

type PartsDeps = AlertDeps & {readonly config: Pick<Config, 'reports'>};

/**
 * Parts of the worker of `start` beside those of every worker: alerts, and weekly reports where
 * there is a folder for them.
 */
export function makesParts(
  deps: PartsDeps,
): (surroundings: BackgroundSurroundings) => readonly BackgroundPart[] {
  const {reports} = deps.config;
  return (surroundings) => [
    ...makeAlertRounds(deps, surroundings.pulse),
    ...(reports === null ? [] : [makeReportRounds(deps, reports, surroundings)]),
  ];
}

/** The weekly reports are looked for once a minute, from when the first account is served. */
function makeReportRounds(
  {pool, log}: PartsDeps,
  folder: string,
  {pulse: take, listServed}: BackgroundSurroundings,
): BackgroundPart {
  const pulse = take('reports');
  const rounds = new Rounds({
    ...{everyMs: reportsEveryMs, pulse},
    work: async () => {
      const {writeDueReports} = await import('./weekly-reports.ts');
      const onMade = () => pulse.good();
      await writeDueReports(pool, {folder, accountIds: listServed(), log, onMade});
    },
    onFailure: (error) =>
      log.error(
        {event: 'report.failed', reason: String(error)},
        'not every weekly report could be made; it is tried again',
      ),
  });
  return {
    begin: () => (listServed().length > 0 ? rounds.begin() : pulse.good()),
    stop: () => rounds.stop(),
  };
}
