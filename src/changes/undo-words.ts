import {formatNumber} from '../core/format.ts';
import {tellGroup} from './decided-words.ts';
import type {Undo} from './undo-many.ts';

/**
 * `200 changes were not sent, and are given up. 300 are taken back by 300 changes, held until released. 1 was left: name: changed since (change 3).`
 */
export function tellUndo({cancelledCount, undoneCount, made, left}: Undo): string {
  const leftCount = left.reduce((total, {count}) => total + count, 0);
  const told = [
    cancelledCount === 0
      ? ''
      : `${countChanges(cancelledCount)} ${cancelledCount === 1 ? 'was not sent, and is' : 'were not sent, and are'} given up.`,
    undoneCount === 0
      ? ''
      : `${countChanges(undoneCount)} ${undoneCount === 1 ? 'is' : 'are'} taken back by ${countChanges(made.length)}, held until released.`,
    leftCount === 0
      ? ''
      : `Of ${countChanges(leftCount)} something was left: ${left.map(tellGroup).join('; ')}.`,
  ];
  return told.filter((text) => text !== '').join(' ') || 'Nothing was taken back.';
}

/** `1 change`, `300 changes` */
export function countChanges(count: number): string {
  return `${formatNumber(count)} ${count === 1 ? 'change' : 'changes'}`;
}
