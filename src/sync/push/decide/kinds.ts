// What values have in common that a service misreads: one whose dates are read the other way round misreads every date. A
// text is a kind of its own field, for what befalls it there, such as a limit of its length, befalls no other.

import type {ChangeValues} from '../../../warehouse/changes/change.ts';
import type {ChangeFacts} from './facts.ts';

export function kindOf({writes, rules}: Pick<ChangeFacts, 'writes' | 'rules'>, field: string): string {
  const kind = rules.get(field)?.kind ?? 'text';
  return kind === 'text' || kind === 'secret' ? `${writes.table.name}.${field}` : kind;
}

export function kindsOf(run: Pick<ChangeFacts, 'writes' | 'rules'>, fields: ChangeValues): string[] {
  return [...new Set(Object.keys(fields).map((field) => kindOf(run, field)))];
}
