import type {Change} from '../changes/change.ts';
import type {ChangeState} from '../changes/change-states.ts';
import {nameChange, nameOutcome, nameState, tellReason} from '../changes/change-words.ts';
import type {HeldChanges} from '../changes/claim-changes.ts';
import {formatDuration, formatNumber} from '../core/format.ts';
import type {PushCounts} from '../push/push-deps.ts';
import {wrap} from './wrap-text.ts';

/** The result of a push. */
export interface Pushed {
  readonly accounts: readonly (PushCounts & {
    /** Name of the account. */
    readonly account: string;
    /** The changes still under way, by state. */
    readonly open: readonly {readonly state: ChangeState; readonly count: number}[];
    /**
     * Changes that another process has in hand, and when the last of them is nobody's if that
     * process is gone.
     */
    readonly held: HeldChanges;
  })[];
  /** Conflicts, and the changes that the service refused or altered just now. */
  readonly needy: readonly Change[];
}

const shownNeedy = 20;
const nothing = 'nothing was due';

/** Whether there was anything to push, or is still. */
export function hasPushed({accounts, needy}: Pushed): boolean {
  return needy.length > 0 || accounts.some((pushed) => tellCounts(pushed) !== nothing);
}

/** A line for each account, and the changes that need a person. */
export function drawPushed({accounts, needy}: Pushed): string {
  if (accounts.length === 0) return 'no account is active: fieldmirror accounts list';
  const width = Math.max(...accounts.map(({account}) => account.length));
  const lines = accounts.map((pushed) =>
    wrap(`${pushed.account.padEnd(width)}  ${tellCounts(pushed)}`),
  );
  if (needy.length === 0) return lines.join('\n');
  const more = needy.length - shownNeedy;
  return [
    ...lines,
    '',
    'Needs a person:',
    ...needy.slice(0, shownNeedy).flatMap(drawNeedy),
    ...(more > 0 ? [`  and ${formatNumber(more)} more: fieldmirror changes list`] : []),
  ].join('\n');
}

function tellCounts({
  done,
  rejected,
  conflict,
  inDoubt,
  postponed,
  open,
  held,
}: Pushed['accounts'][number]): string {
  const parts: readonly (readonly [number, string])[] = [
    [done, 'done'],
    [rejected, 'refused'],
    [conflict, conflict === 1 ? 'needs a decision' : 'need a decision'],
    [inDoubt, 'in doubt'],
    [postponed, 'to be tried again'],
  ];
  const did = parts
    .filter(([count]) => count > 0)
    .map(([count, what]) => `${formatNumber(count)} ${what}`);
  const left = open.map(({state, count}) => `${formatNumber(count)} ${nameState(state)}`);
  return [
    did.length === 0 ? nothing : did.join(', '),
    ...(left.length === 0 ? [] : [`still open: ${left.join(', ')}`]),
    ...(held.count === 0
      ? []
      : [
          `another process has ${formatNumber(held.count)} in hand; if that process is gone, fieldmirror push carries them in ${formatDuration(Math.max(1_000, held.leaseMs))} at most`,
        ]),
  ].join('; ');
}

function drawNeedy(change: Change): string[] {
  const {changeId} = change;
  return [
    wrap(
      `  change ${changeId}, ${nameChange(change)}, ${nameOutcome(change)}: ${tellReason(change)}`,
    ),
    `    fieldmirror changes show ${changeId}`,
  ];
}
