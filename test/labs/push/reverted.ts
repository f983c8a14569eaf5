import type pg from 'pg';
import {readFinalRows} from './final-state.ts';
import {normal, type Value, type Values} from './history.ts';

interface Settled {
  readonly changeId: string;
  readonly table: string;
  readonly rowId: string;
  readonly operation: 'create' | 'update' | 'delete';
  readonly state: string;
  readonly isOpen: boolean;
  readonly fields: Values;
  readonly base: Values;
}

/**
 * Rows that have gone back behind a change that is done: an old value, a row that lives again, a
 * new row that is marked deleted. For the middle of a life in which nobody else writes to the
 * service; a later sweep would cover it up.
 */
export async function findReverted(pool: pg.Pool): Promise<string[]> {
  const {rows: changes} = await pool.query<Settled>(
    `SELECT change_id AS "changeId", table_name AS "table", row_id AS "rowId", operation, state,
      is_open AS "isOpen", fields, base
       FROM sync.changes ORDER BY change_id`,
  );
  const ofRow = Map.groupBy(changes, ({table, rowId}) => `${table} ${rowId}`);
  return (await readFinalRows(pool)).flatMap(({table, rowId, number, fields, isDeleted}) => {
    const own = ofRow.get(`${table} ${rowId}`) ?? [];
    const name = `${table} ${number ?? `row ${rowId}`}`;
    if (own.some(({isOpen}) => isOpen)) return [];
    const done = own.filter(({state}) => state === 'done');
    const erased = done.find(({operation}) => operation === 'delete');
    if (erased !== undefined)
      return isDeleted ? [] : [`${name} lives again, after change ${erased.changeId} deleted it`];
    const made = done.find(({operation}) => operation === 'create');
    if (isDeleted)
      return made === undefined
        ? []
        : [`${name} is marked deleted, after change ${made.changeId} created it`];
    return [...lastWishes(done)].flatMap(([field, {changeId, wanted, before}]) => {
      const held = normal(fields[field]);
      return held === normal(before) && held !== normal(wanted)
        ? [`${name}.${field} is back at ${held}, after change ${changeId} wrote ${normal(wanted)}`]
        : [];
    });
  });
}

/** The last update of each field. */
function lastWishes(done: readonly Settled[]) {
  const wishes = new Map<string, {changeId: string; wanted: Value; before: Value | undefined}>();
  for (const {changeId, operation, fields, base} of done)
    if (operation === 'update')
      for (const [field, wanted] of Object.entries(fields))
        wishes.set(field, {changeId, wanted, before: base[field]});
  return wishes;
}
