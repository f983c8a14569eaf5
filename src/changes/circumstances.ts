import type {Account} from '../accounts/accounts.ts';
import type {Queryable} from '../postgres/database.ts';
import {readAlterations} from './alterations.ts';
import type {Change} from './change.ts';
import {listOvertaken, readChanges, readConflictsOf} from './change-log.ts';
import type {Circumstances} from './change-next.ts';

/**
 * What the next steps of changes depend on, by change: a few statements for all of them.
 * @param accounts - at least those of the changes
 */
export async function readCircumstances(
  db: Queryable,
  changes: readonly Change[],
  accounts: readonly Account[],
): Promise<ReadonlyMap<string, Circumstances>> {
  const ids = changes.map(({changeId}) => changeId);
  const blockers = await readChanges(
    db,
    changes.flatMap(({waitsFor}) => (waitsFor === null ? [] : [waitsFor])),
  );
  const conflicts = await readConflictsOf(db, ids);
  const alterations = await readAlterations(db, ids);
  const overtaken = await listOvertaken(db, ids);
  const {rows} = await db.query<{now: string}>('SELECT now() AS now');
  return new Map(
    changes.map(({changeId, accountId, waitsFor}) => {
      const account = accounts.find((known) => known.accountId === accountId);
      if (account === undefined)
        throw new TypeError(`change ${changeId}: every change has its account`);
      const circumstances = {
        account,
        blocker: waitsFor === null ? null : (blockers.get(waitsFor) ?? null),
        conflicts: conflicts.get(changeId) ?? [],
        alterations: alterations.get(changeId) ?? [],
        isOvertaken: overtaken.has(changeId),
        now: rows[0]?.now ?? '',
      };
      return [changeId, circumstances];
    }),
  );
}
