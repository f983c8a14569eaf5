// What values have in common that a service misreads: one whose dates are read the other way round misreads every date. A
// text is a kind of its own field, for what befalls it there, such as a limit of its length, befalls no other.

import type {ChangeValues} from '../../warehouse/change.ts';
import type {ClaimedChange} from '../../warehouse/claim-changes.ts';
import type {PushRun} from './push-run.ts';

export function kindOf({writes, rules}: Pick<PushRun, 'writes' | 'rules'>, field: string): string {
  const kind = rules.get(field)?.kind ?? 'text';
  return kind === 'text' || kind === 'secret' ? `${writes.table.name}.${field}` : kind;
}

export function kindsOf(run: Pick<PushRun, 'writes' | 'rules'>, fields: ChangeValues): string[] {
  return [...new Set(Object.keys(fields).map((field) => kindOf(run, field)))];
}

/** Kinds that were stopped while this process was at work: what waits for its turn by then is not sent any more. */
export class Stops {
  /** By kind, when the latest change known by then was taken up: later ones know better. */
  readonly #stopped = new Map<string, number>();
  #latestClaimMs = 0;

  add(kinds: readonly string[]): void {
    for (const kind of kinds) this.#stopped.set(kind, this.#latestClaimMs);
  }

  learn({claimedAt, stoppedKinds}: ClaimedChange): void {
    const claimedMs = Date.parse(claimedAt);
    this.#latestClaimMs = Math.max(this.#latestClaimMs, claimedMs);
    for (const [kind, sinceMs] of this.#stopped)
      if (claimedMs > sinceMs && !stoppedKinds.includes(kind)) this.#stopped.delete(kind);
  }

  areAmong(kinds: readonly string[]): boolean {
    return this.#stopped.size > 0 && kinds.some((kind) => this.#stopped.has(kind));
  }
}
