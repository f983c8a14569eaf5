import type pg from 'pg';
import {RetryableError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {
  claimDeliveries,
  type Delivery,
  giveBack,
  listNews,
  noteFailed,
  noteSent,
} from './alert-deliveries.ts';
import type {AlertMessage} from './alert-message.ts';
import {type SendDeps, send} from './send-alert.ts';

export interface SendDueDeps extends SendDeps {
  readonly pool: pg.Pool;
  readonly log: Logger;
  /** Is told after each few that were tried. */
  readonly onTried?: () => void;
}

/** Receivers that are slow hold up no others but these. */
const atOnce = 8;
const firstMs = 30_000;
const longestMs = 3_600_000;

/**
 * Sends everything that is due, at least once: it is noted after the receiver took it, never
 * before.
 */
export async function sendDue(deps: SendDueDeps): Promise<void> {
  const means = {keyIds: deps.keys.map(({id}) => id), hasSmtp: deps.smtpUrl !== null};
  for (;;) {
    if (deps.signal?.aborted === true) return;
    const claimed = await claimDeliveries(deps.pool, means, atOnce);
    if (claimed.length === 0) return;
    await Promise.all(claimed.map((delivery) => deliver(deps, delivery)));
    deps.onTried?.();
  }
}

async function deliver(deps: SendDueDeps, delivery: Delivery): Promise<void> {
  const {pool, log, signal} = deps;
  try {
    await send(deps, delivery, await readMessage(pool, delivery));
  } catch (error) {
    if (signal?.aborted === true) return await giveBack(pool, delivery);
    return await postpone(deps, delivery, error);
  }
  await noteSent(pool, delivery);
  log.info({event: 'alert.sent', rule: delivery.rule, kind: delivery.kind}, 'an alert was taken');
}

async function readMessage(pool: pg.Pool, delivery: Delivery): Promise<AlertMessage | null> {
  const {kind, messageId, rule, deliveryId} = delivery;
  return kind === 'ping' ? null : {kind, messageId, rule, news: await listNews(pool, deliveryId)};
}

async function postpone(
  {pool, log}: SendDueDeps,
  delivery: Delivery,
  cause: unknown,
): Promise<void> {
  const error = cause instanceof Error ? cause.message : String(cause);
  const asked = cause instanceof RetryableError ? (cause.retryAfterMs ?? 0) : 0;
  const afterMs = Math.max(asked, backOffMs(delivery.attempts));
  const state = await noteFailed(pool, delivery, {error, afterMs});
  const facts = {
    rule: delivery.rule,
    kind: delivery.kind,
    attempt: delivery.attempts,
    reason: error,
  };
  if (state === 'failed') log.error({event: 'alert.given_up', ...facts}, 'an alert was given up');
  else if (state === 'due')
    log.warn({event: 'alert.postponed', ...facts}, 'an alert was not taken; it is tried again');
}

/** Twice as long after each try, and never in step with others. */
function backOffMs(attempts: number): number {
  const longest = Math.min(firstMs * 2 ** Math.min(attempts - 1, 20), longestMs);
  return Math.round(longest * (0.5 + Math.random() / 2));
}
