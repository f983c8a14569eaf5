import {primaryKey, text} from 'drizzle-orm/pg-core';
import {sync} from '../accounts/tables.ts';
import {commentTable} from '../postgres/tables.ts';

const changeTransitions = sync.table(
  'change_transitions',
  {
    from_state: text().notNull(),
    to_state: text().notNull(),
    why: text().notNull(),
  },
  (table) => [
    primaryKey({name: 'change_transitions_pkey', columns: [table.from_state, table.to_state]}),
  ],
);

export const transitionsTable = commentTable(
  changeTransitions,
  'The life of a change: which state follows which. A trigger of sync.changes refuses every other step.',
  {
    from_state: 'The state before; new for a change that is being made.',
    to_state: 'The state that may follow.',
    why: 'What makes it follow, in words.',
  },
);
