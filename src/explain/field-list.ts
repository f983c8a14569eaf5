// Every field that the service was ever seen to send, and what changed in them of late.

import type {Account} from '../accounts/accounts.ts';
import {nearest} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import {
  countFields,
  type Field,
  type FieldEvent,
  listFieldEvents,
  listFields,
  readExamples,
} from '../star/fields.ts';
import {allTables, isPersonal} from '../streams/all.ts';

export interface ToldField extends Omit<Field, 'accountId'> {
  readonly account: string;
  /** Of a single field up to three values of late; none of a secret, which is not kept. */
  readonly examples: readonly string[];
}

export interface FieldsStory {
  readonly tables: readonly {
    readonly table: string;
    readonly count: number;
    readonly promoted: number;
  }[];
  readonly table: string;
  /** The one field that is looked at; null: all of the table. */
  readonly field: string | null;
  readonly fields: readonly ToldField[];
  readonly hasMore: boolean;
  /** Of the last `days` days: of every table, or of the field that is looked at. */
  readonly events: readonly (Omit<FieldEvent, 'accountId'> & {readonly account: string})[];
  readonly days: number;
  /**
   * What may have been meant, where there is no such table or field: ` (did you mean jobs?)`; else
   * null.
   */
  readonly unknown: string | null;
}

const days = 90;
const most = {fields: 250, events: 100};

/**
 * Reads the fields of a table, or one field with examples.
 * @param asked.table - null: the first that has any
 */
export async function readFields(
  db: Queryable,
  accounts: readonly Account[],
  asked: {readonly table: string | null; readonly field: string | null},
): Promise<FieldsStory> {
  const accountIds = accounts.map(({accountId}) => accountId);
  const tables = await countFields(db, accountIds);
  const names = tables.map((one) => one.table);
  const table = asked.table ?? names.find((name) => name === 'jobs') ?? names[0] ?? 'jobs';
  const {field} = asked;
  const listed = await listFields(db, {accountIds, table, field, limit: most.fields + 1});
  const events = await listFieldEvents(db, {
    ...{accountIds, days, field, limit: most.events},
    table: field === null ? null : table,
  });
  const nameOf = (accountId: string) =>
    accounts.find((account) => account.accountId === accountId)?.name ?? '';
  const fields = listed.slice(0, most.fields).map(async ({accountId, ...one}) => ({
    ...{...one, account: nameOf(accountId)},
    examples: field === null ? [] : await readExamplesOf(db, {...one, accountId}),
  }));
  return {
    ...{tables, table, field, days},
    fields: await Promise.all(fields),
    hasMore: listed.length > most.fields,
    events: events.map(({accountId, ...event}) => ({...event, account: nameOf(accountId)})),
    unknown:
      listed.length > 0 || (asked.table ?? field) === null ? null : nearest(field ?? table, names),
  };
}

/** The story for somebody who is not to see personal data. */
export function hideFields(story: FieldsStory, hidden: string): FieldsStory {
  return {
    ...story,
    fields: story.fields.map((field) =>
      isPersonal(field.tableName, field.columnName ?? field.field)
        ? {...field, examples: field.examples.map(() => hidden)}
        : field,
    ),
  };
}

async function readExamplesOf(
  db: Queryable,
  {accountId, tableName, field, types, columnName}: Field,
) {
  const table = allTables.find(({name}) => name === tableName);
  if (table === undefined || types.includes('secret')) return [];
  return await readExamples(db, table, {accountId, field, column: columnName});
}
