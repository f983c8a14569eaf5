import type {Comment} from '../postgres/tables.ts';
import {type MirrorTable, ownColumns} from '../streams/table.ts';

type Columns = Readonly<Record<string, string>>;

const validTo =
  'Until when the version held: from this moment on the next one does, or none where the row was removed.';

const editColumns: Columns = {
  row_id: 'The row.',
  table_name: 'Its table in warehouse.',
  at: 'When the version begins that was written; of a removal, when the last version ended.',
  kind: 'insert, update or delete; to empty a table is a delete of each row.',
  written_by: 'Database user who was logged in.',
  application: 'What the connection called itself: application_name.',
};

/** The comments of the schema `history`: of all that keeps the versions of these tables. */
export function historyComments(tables: readonly MirrorTable[]): Comment[] {
  return [
    ...describe('TABLE', 'edits', {
      text: 'Who wrote the versions of rows that no sweep wrote, and who removed rows.',
      columns: editColumns,
    }),
    ...tables.flatMap(tableComments),
  ];
}

function tableComments({name, comment, columns}: MirrorTable): Comment[] {
  const held = {
    ...ownColumns,
    ...Object.fromEntries(columns.map((column) => [column.name, column.comment])),
  };
  return [
    ...describe('TABLE', `past_${name}`, {
      text: `Superseded versions of the rows of warehouse.${name}; history.${name} shows all.`,
      columns: {valid_to: validTo, ...held},
    }),
    ...describe('VIEW', name, {
      text: `${comment} Every version of every row, with the time for which it held.`,
      columns: {
        valid_from: 'When the version began: when the transaction that wrote it began.',
        valid_to: `${validTo} Null while it holds.`,
        written_by:
          'Database user who wrote the version, where no sweep did: see also history.edits.',
        ...held,
      },
    }),
    {
      kind: 'FUNCTION',
      name: ['history', `${name}_as_of`],
      argumentTypes: 'timestamp with time zone',
      text: `${comment} The rows that lived at a moment, as they were then. A moment is settled once every transaction begun before it has ended.`,
    },
  ];
}

function describe(
  kind: 'TABLE' | 'VIEW',
  name: string,
  said: {readonly text: string; readonly columns: Columns},
): Comment[] {
  const {text, columns} = said;
  return [
    {kind, name: ['history', name], text},
    ...Object.entries(columns).map(
      ([column, sentence]): Comment => ({
        kind: 'COLUMN',
        name: ['history', name, column],
        text: sentence,
      }),
    ),
  ];
}
