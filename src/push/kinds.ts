// The kind that misread values have in common: a service that reads one date the other way round
// misreads every date. A text has a kind per field, because an alteration there, such as a length
// limit, befalls no other field.

import type {ChangeValues} from '../rows/change-values.ts';
import type {ChangeFacts} from './facts.ts';

export function kindOf(
  {writes, rules}: Pick<ChangeFacts, 'writes' | 'rules'>,
  field: string,
): string {
  const kind = rules.get(field)?.kind ?? 'text';
  return kind === 'text' || kind === 'secret' ? `${writes.table.name}.${field}` : kind;
}

export function kindsOf(
  run: Pick<ChangeFacts, 'writes' | 'rules'>,
  fields: ChangeValues,
): string[] {
  return [...new Set(Object.keys(fields).map((field) => kindOf(run, field)))];
}
