// What the worker of `start` does beside the work of every worker: alerts, the delivery of the
// star, and weekly reports where there is a folder for them.

import type pg from 'pg';
import type {BackgroundPart, BackgroundSurroundings} from '../../jobs/background.ts';
import {type AlertLook, endLook, giveBackLook, type Kept, takeLook} from '../alerts/alerts.ts';
import {readProblems} from '../alerts/problems.ts';
import {sendDue} from '../alerts/send.ts';
import type {Config} from '../core/config.ts';
import type {Logger} from '../core/log.ts';
import {type Pulse, Rounds} from '../core/rounds.ts';
import type {Secret} from '../core/secret.ts';
import {makeDeliveryRounds} from '../delivery/deliver-star.ts';
import {toHealthInput} from './status.ts';

const reportsEveryMs = 60_000;

type PartsDeps = AlertDeps & {readonly config: Pick<Config, 'reports'>};

/**
 * Parts of the worker of `start` beside those of every worker: alerts, the delivery of the star,
 * and weekly reports where there is a folder for them.
 */
export function makesParts(
  deps: PartsDeps,
): (surroundings: BackgroundSurroundings) => readonly BackgroundPart[] {
  const {reports} = deps.config;
  return (surroundings) => [
    ...makeAlertRounds(deps, surroundings.pulse),
    makeDeliveryRounds(deps, surroundings.pulse('delivery')),
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
      const {writeDueReports} = await import('./weekly-report.ts');
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

// The alerts of a worker, beside its other work: what is wrong is looked for once a minute, by one
// worker of all, and what is due is sent. A receiver that hangs holds up no sweep and no look:
// nothing waits for it.

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

const everyMs = 10_000;

/** Finds what is wrong, where it is time for it. */
export async function lookForProblems({pool, log, config}: AlertDeps): Promise<void> {
  const look = await takeLook(pool);
  if (look === null) return;
  const kept = await saveProblems({pool, config}, look).catch(async (error: unknown) => {
    await giveBackLook(pool, look).catch(() => {});
    throw error;
  });
  if (kept !== null && kept.opened + kept.mended > 0)
    log.info({event: 'alert.looked', ...kept}, 'something else is wrong, or no longer');
}

async function saveProblems(
  {pool, config}: Pick<AlertDeps, 'pool' | 'config'>,
  look: AlertLook,
): Promise<Kept | null> {
  return await endLook(pool, look, await readProblems(pool, toHealthInput(config)));
}

/** Sends what is due. @param more.onTried - is told after each few that were tried */
export async function sendAlerts(
  {pool, log, config, onSecret}: AlertDeps,
  more: {readonly signal?: AbortSignal; readonly onTried?: () => void} = {},
): Promise<void> {
  const {keys, smtpUrl, allowsHttp, allowsLinkLocal} = config;
  await sendDue({pool, log, keys, smtpUrl, allowsHttp, allowsLinkLocal, onSecret, ...more});
}

/** The two parts of a worker: what is not sent before it stops is due for the next worker. */
function makeAlertRounds(deps: AlertDeps, pulse: (part: 'alerts' | 'messages') => Pulse): Rounds[] {
  const messages = pulse('messages');
  const onFailure = (error: unknown) =>
    deps.log.error(
      {event: 'alert.unlooked', reason: String(error)},
      'alerts wait; it is tried again',
    );
  return [
    new Rounds({everyMs, pulse: pulse('alerts'), work: () => lookForProblems(deps), onFailure}),
    new Rounds({
      ...{everyMs, pulse: messages, onFailure},
      work: (signal) => sendAlerts(deps, {signal, onTried: () => messages.good()}),
    }),
  ];
}
