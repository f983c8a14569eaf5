import {formatAgo, formatNumber} from '../core/format.ts';
import type {DeadLetter} from '../feed/dead-letters.ts';
import type {FeedHook} from '../feed/feed-hooks.ts';
import {drawTable} from './report.ts';
import {wrap} from './wrap-text.ts';

/**
 * How `hooks list` looks: a table of subscribers, what is wrong with them, then the dead letters.
 */
export function drawHooks(hooks: readonly FeedHook[], deadLetters: readonly DeadLetter[]): string {
  if (hooks.length === 0)
    return 'no subscriber is sent the feed: fieldmirror hooks add NAME --url URL';
  const head = ['subscriber', 'at', 'of', 'last taken', 'behind', 'state'];
  const failing = hooks.flatMap(({name, failingSince, lastError}) =>
    failingSince === null
      ? []
      : [wrap(`${name} takes nothing, ${formatAgo(failingSince)}: ${lastError}`)],
  );
  const waiting = hooks.flatMap(({name, hasAddress}) =>
    hasAddress
      ? []
      : [wrap(`${name} waits for its address: fieldmirror hooks add ${name} --url URL`)],
  );
  const letters = deadLetters.map(({letterId, hook, skippedAt, reason}) =>
    wrap(`dead letter ${letterId} of ${hook}, skipped ${formatAgo(skippedAt)}: ${reason}`),
  );
  return [drawTable(head, hooks.map(describeHook)), ...failing, ...waiting, ...letters].join('\n');
}

function describeHook({
  name,
  target,
  account,
  tables,
  sentAt,
  behind,
  ...hook
}: FeedHook): (string | number)[] {
  const of = [account, tables?.join(', ') ?? null].filter((part) => part !== null).join(': ');
  const served = hook.isUntaken ? `waits for key ${hook.keyId}` : 'at work';
  const state = hook.hasAddress ? served : 'has no address';
  return [
    name,
    target,
    of === '' ? 'everything' : of,
    sentAt === null ? 'never' : formatAgo(sentAt),
    behind === null ? '?' : formatNumber(behind),
    hook.stoppedAt !== null
      ? 'stopped'
      : hook.failingSince !== null
        ? `failing (${hook.attempts})`
        : state,
  ];
}
