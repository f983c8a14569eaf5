import {formatDuration, formatNumber, tellRate, type UnderWay} from '../core/format.ts';
import type {MovingChanges} from './moving-changes.ts';

/** `acme: 1,200 changes to carry, 18 a second, 1 min 7 s to go` */
export function describeChanges({
  accountName: account,
  left,
  settledLastMinute,
}: MovingChanges & {readonly accountName: string}): UnderWay {
  const perSecond = settledLastMinute === 0 ? null : settledLastMinute / 60;
  const leftMs = perSecond === null ? null : (left * 1_000) / perSecond;
  const pace = {done: settledLastMinute, total: settledLastMinute + left, perSecond, leftMs};
  const rate = perSecond === null ? [] : [tellRate(perSecond)];
  const time = leftMs === null ? [] : [`${formatDuration(Math.max(1_000, leftMs))} to go`];
  const open = `${formatNumber(left)} ${left === 1 ? 'change' : 'changes'} to carry`;
  return {account, pace, text: `${account}: ${[open, ...rate, ...time].join(', ')}`};
}
