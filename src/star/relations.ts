// Which columns of the star are keys of another member's rows.

import {type Member, rowKeyOf} from './member.ts';
import {members} from './star.ts';

/** A column that holds the key of a row of a dimension, or of a job. */
export interface Relation {
  readonly column: string;
  /** The member that has the row. */
  readonly target: string;
  /** The key of the target. */
  readonly key: string;
  /** Whether -1 stands for no row, and is none of the target. */
  readonly mayBeNone: boolean;
}

/** The dimensions, and the fact that others point at, by the name of their key. */
const targets = new Map(
  members
    .filter(({name}) => /^dim_(?!.*_version$)|^fct_job$/.test(name))
    .map((member) => [rowKeyOf(member)[0] ?? '', member.name]),
);
const otherNames: Readonly<Record<string, string>> = {
  booked_by_employee_key: 'employee_key',
  group_key: 'customer_key',
  repeat_job_key: 'job_key',
};

/**
 * The relations of a member. Facts of versions tell of jobs that are gone, which have no row in
 * `fct_job`.
 */
export function relationsOf({
  name,
  columns,
  isOfVersions,
}: Pick<Member, 'name' | 'columns' | 'isOfVersions'>): readonly Relation[] {
  return columns.flatMap(([column]) => {
    const key = otherNames[column] ?? column;
    const target = targets.get(key);
    if (target === undefined || (target === name && key === column)) return [];
    if (isOfVersions && target === 'fct_job') return [];
    return [{column, target, key, mayBeNone: target === 'fct_job'}];
  });
}
