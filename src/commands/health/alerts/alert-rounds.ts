// The alerts of a worker, beside its other work: what is wrong is looked for once a minute, by one worker of all, and what is due
// is sent. A receiver that hangs holds up no sweep: no round of the worker waits for it.

import {setTimeout as wait} from 'node:timers/promises';
import type pg from 'pg';
import type {Config} from '../../../base/config.ts';
import type {Logger} from '../../../base/log.ts';
import type {Secret} from '../../../base/secret.ts';
import {sendDue} from '../../../sync/alerts/send-due.ts';
import {findTroubles} from '../../../views/concerns/find-troubles.ts';
import {endLook, takeLook} from '../../../warehouse/alerts/alerts.ts';
import {toLooker} from '../looker.ts';

export interface AlertDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  readonly config: Pick<
    Config,
    'keys' | 'bounds' | 'databaseUrl' | 'directUrl' | 'home' | 'smtpUrl' | 'allowsHttp' | 'allowsLinkLocal'
  >;
  readonly onSecret: (secret: Secret) => void;
}

const everyMs = 10_000;
const stopMs = 3_000;

/** Finds what is wrong, where it is time for it, and sends what is due. */
export async function goRound(deps: AlertDeps, signal?: AbortSignal): Promise<void> {
  const {pool, log, config, onSecret} = deps;
  const look = await takeLook(pool);
  if (look !== null) {
    const kept = await endLook(pool, look, await findTroubles(pool, toLooker(config)));
    if (kept !== null && kept.opened + kept.mended > 0)
      log.info({event: 'alert.looked', ...kept}, 'something else is wrong, or no longer');
  }
  const {keys, smtpUrl, allowsHttp, allowsLinkLocal} = config;
  const means = {keys, smtpUrl, allowsHttp, allowsLinkLocal, onSecret};
  await sendDue({pool, log, ...means, ...(signal === undefined ? {} : {signal})});
}

/** The rounds of one worker. */
export class AlertRounds {
  readonly #deps: AlertDeps;
  readonly #stopping = new AbortController();
  #round: Promise<void> | null = null;
  #begunAt = Number.NEGATIVE_INFINITY;

  constructor(deps: AlertDeps) {
    this.#deps = deps;
  }

  /** Begins a round, unless one is under way or was begun a moment ago. Never fails, and waits for nothing. */
  begin(): void {
    const isTime = performance.now() - this.#begunAt >= everyMs;
    if (this.#round !== null || !isTime || this.#stopping.signal.aborted) return;
    this.#begunAt = performance.now();
    this.#round = goRound(this.#deps, this.#stopping.signal)
      .catch((error: unknown) =>
        this.#deps.log.error(
          {event: 'alert.unlooked', reason: String(error)},
          'alerts wait; it is tried again',
        ),
      )
      .finally(() => {
        this.#round = null;
      });
  }

  /** Ends the round under way within seconds: what was not taken yet is due for the next worker. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('shutdown'));
    await Promise.race([this.#round, wait(stopMs, undefined, {ref: false})]);
  }
}
