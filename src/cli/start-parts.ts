// The parts that only the worker of `start` has: alerts, the delivery of the star, and weekly
// reports. Once a minute one of all workers checks for problems; messages that are due are sent. A
// receiver that hangs delays no sweep and no check, because nothing waits for it.

import type pg from 'pg';
import type {BackgroundPart, BackgroundSurroundings} from '../../jobs/background.ts';
import {
  type AlertCheck,
  type AlertCounts,
  beginAlertCheck,
  endAlertCheck,
  releaseAlertCheck,
} from '../alerts/alerts.ts';
import {readProblems, toHealthInput} from '../alerts/problems.ts';
import {sendDue} from '../alerts/send.ts';
import type {Config} from '../core/config.ts';
import {causePage, type Logger} from '../core/log.ts';
import {type Pulse, Rounds} from '../core/pauses.ts';
import type {Secret} from '../core/secret.ts';
import {makeDeliveryRounds} from '../delivery/deliver-star.ts';

const alertsEveryMs = 10_000;
const reportsEveryMs = 60_000;

type PartsDeps = AlertDeps & {
  readonly config: Pick<Config, 'reports' | 'storageKeys' | 'consoleUrl'>;
};

/**
 * Parts that only the worker of `start` has: alerts, the delivery of the star, and weekly reports.
 */
export function makePartsFactory(
  deps: PartsDeps,
): (context: BackgroundSurroundings) => readonly BackgroundPart[] {
  return (context) => [
    ...makeAlertRounds(deps, context.pulse),
    makeDeliveryRounds({...deps, storage: deps.config}, context.pulse('delivery')),
    makeReportRounds(deps, context),
  ];
}

/**
 * Makes the weekly reports that are due, into the folder and by e-mail. It checks for them once a
 * minute, from when the first account is served.
 */
function makeReportRounds(
  {pool, log, config, onSecret}: PartsDeps,
  {pulse: makePulse, listServed}: BackgroundSurroundings,
): BackgroundPart {
  const pulse = makePulse('reports');
  const rounds = new Rounds({
    everyMs: reportsEveryMs,
    pulse,
    work: async (signal) => {
      const {reports: folder, smtpUrl, consoleUrl, allowsHttp, allowsLinkLocal} = config;
      const onDone = () => pulse.good();
      try {
        if (folder === null) return;
        const {writeDueReports} = await import('./ask.ts');
        await writeDueReports({pool, log, signal, onDone, folder, accountIds: listServed()});
      } finally {
        const {mailReports} = await import('../delivery/report-mails.ts');
        const mailOptions = {smtpUrl, consoleUrl, allowsHttp, allowsLinkLocal, onSecret, signal};
        await mailReports({pool, log, ...mailOptions, onDone});
      }
    },
    onFailure: (error) =>
      log.error(
        {event: 'report.failed', reason: String(error)},
        'not every weekly report could be made or sent; it is tried again',
      ),
  });
  return {
    begin: () => (listServed().length > 0 ? rounds.begin() : pulse.good()),
    stop: () => rounds.stop(),
  };
}

export interface AlertDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  readonly config: Pick<
    Config,
    | 'keys'
    | 'bounds'
    | 'databaseUrl'
    | 'directUrl'
    | 'home'
    | 'smtpUrl'
    | 'allowsHttp'
    | 'allowsLinkLocal'
  >;
  readonly onSecret: (secret: Secret) => void;
}

/** Checks for problems, if it is time for a check. */
export async function checkForProblems({pool, log, config}: AlertDeps): Promise<void> {
  const check = await beginAlertCheck(pool);
  if (check === null) return;
  const counts = await saveProblems({pool, config}, check).catch(async (error: unknown) => {
    await releaseAlertCheck(pool, check).catch(() => {});
    throw error;
  });
  if (counts !== null && counts.opened + counts.resolved > 0)
    log.info({event: 'alert.changed', ...counts}, 'something else is wrong, or no longer');
}

async function saveProblems(
  {pool, config}: Pick<AlertDeps, 'pool' | 'config'>,
  check: AlertCheck,
): Promise<AlertCounts | null> {
  return await endAlertCheck(pool, check, await readProblems(pool, toHealthInput(config)));
}

/**
 * Checks once whether no worker was alive until now. If the check fails, the first of the usual
 * rounds repeats it.
 */
export async function reportAbsence(deps: AlertDeps): Promise<void> {
  await checkForProblems(deps).catch((error: unknown) => logFailedCheck(deps, error));
}

function logFailedCheck({log}: AlertDeps, error: unknown): void {
  log.error(
    {event: 'alert.check_failed', reason: String(error), ...causePage(error)},
    'alerts wait; it is tried again',
  );
}

/**
 * Sends the messages that are due.
 * @param options.onTried - is called after each try
 */
export async function sendAlerts(
  {pool, log, config, onSecret}: AlertDeps,
  options: {readonly signal?: AbortSignal; readonly onTried?: () => void} = {},
): Promise<void> {
  const {keys, smtpUrl, allowsHttp, allowsLinkLocal} = config;
  await sendDue({pool, log, keys, smtpUrl, allowsHttp, allowsLinkLocal, onSecret, ...options});
}

/**
 * The two parts of a worker: a message that is not sent before it stops is due for the next worker.
 */
function makeAlertRounds(deps: AlertDeps, pulse: (part: 'alerts' | 'messages') => Pulse): Rounds[] {
  const messages = pulse('messages');
  const onFailure = (error: unknown) => logFailedCheck(deps, error);
  return [
    new Rounds({
      everyMs: alertsEveryMs,
      pulse: pulse('alerts'),
      work: () => checkForProblems(deps),
      onFailure,
    }),
    new Rounds({
      everyMs: alertsEveryMs,
      pulse: messages,
      onFailure,
      work: (signal) => sendAlerts(deps, {signal, onTried: () => messages.good()}),
    }),
  ];
}
