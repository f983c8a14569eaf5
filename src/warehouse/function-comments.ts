import type {Comment} from './comment.ts';

type Said = readonly [name: string, argumentTypes: string, text: string];

const forPeople: readonly Said[] = [
  ['last_change', '', 'The last change that a statement of this session made; null before the first.'],
  [
    'wait',
    'bigint, interval',
    'Waits until a change is settled, or needs a person, and gives its state; the state it is in when the time is up.',
  ],
  ['hold_change', 'bigint', 'Holds a pending change until it is released; gives its state.'],
  ['release_change', 'bigint', 'Lets a held change be sent; gives its state.'],
  [
    'retry_change',
    'bigint',
    'Makes a pending change due now, and sends once more what the service refused; gives its state.',
  ],
  [
    'cancel_change',
    'bigint, text',
    'Gives up a change that is not on its way, for a reason; its row gets back what it held. Gives its state.',
  ],
  [
    'resolve_change',
    'bigint, text',
    'Decides a conflict: service gives up the wish, warehouse sends it all the same; of a create whose fate nobody knows, resend, or the number of the record that it became. Gives its state.',
  ],
  [
    'grant_roles',
    '',
    'Gives fieldmirror_reader, fieldmirror_author and fieldmirror_worker what they may do; to be called again when one was made later.',
  ],
  ['only_account', '', 'The account, where there is only one: the default of account_id.'],
];

const forTriggers: readonly Said[] = [
  ['check_writer', '', 'Trigger: only a worker may say that it writes what the service sent.'],
  ['capture_insert', '', 'Trigger: makes a change of an INSERT, or refuses it.'],
  ['capture_update', '', 'Trigger: makes a change of an UPDATE, or refuses it.'],
  ['capture_delete', '', 'Trigger: makes a change of a DELETE, or refuses it, and leaves a tombstone.'],
  ['capture_assign', '', 'Trigger: makes a change of the job of a new row of job_employees.'],
  ['capture_unassign', '', 'Trigger: makes a change of the job of a deleted row of job_employees.'],
  ['complete_assignment', '', 'Trigger: says which job a new row of job_employees is of, and makes room.'],
  ['keep_wanted', '', 'Trigger: keeps what open changes want of a row that a sweep writes.'],
  ['keep_tombstone', '', 'Trigger: passes over the DELETE of a row that is being deleted.'],
  ['refuse_truncate', '', 'Trigger: refuses TRUNCATE.'],
  ['tell_change', '', 'Trigger: NOTIFY of what is due (fieldmirror_due) and settled (fieldmirror_changes).'],
];

const account = 'bigint, text, bigint';
const inside: readonly Said[] = [
  ['capture', 'text, text, text, text, text, text', 'Makes the triggers that capture one warehouse table.'],
  [
    'record_change',
    `${account}, text, bigint, jsonb, jsonb, bigint, text`,
    'Brings an edit into sync.changes.',
  ],
  ['record_create', 'text, jsonb, bigint', 'Brings a row into sync.changes as a record to be created.'],
  [
    'record_assignment',
    'warehouse.jobs, bigint, bigint',
    'Brings the employees that a job has by now into sync.changes; its lock is held.',
  ],
  ['merge_change', 'sync.changes, jsonb, jsonb', 'Brings an edit into an unsent change.'],
  ['fingerprint', `${account}, jsonb`, 'Hash of the content of a create and of what it hangs on.'],
  ['assigned', 'bigint, bigint, bigint', 'The employees that the rows of job_employees assign to a job.'],
  ['lock_job', 'warehouse.job_employees', 'The job of an assignment, locked.'],
  [
    'lacks_create',
    'text, bigint',
    'Whether nothing is under way that would create the record of a row without a number.',
  ],
  ['parent_of', 'text, bigint', 'The row that the last create of a row hangs on.'],
  ['is_open', 'text', 'Whether a change in this state is not over.'],
  ['wanted', 'text, jsonb', 'What open changes want of a row; null when nothing.'],
  ['wanted_columns', 'text, bigint', 'What open changes want of the columns of a row; null when nothing.'],
  [
    'wanted_assignment',
    'bigint, bigint, bigint, bigint, timestamp with time zone',
    'Whether the open changes of a job want an assignment to live; null when they say nothing.',
  ],
  ['check_value', 'text, text, text, text, text', 'Refuses a value that the service cannot take.'],
  ['check_new_row', 'text, jsonb, text, text', 'Refuses what an author may not give to a new row.'],
  ['refuse_column', 'text, text, text, text', 'Refuses a column by its name.'],
  ['as_texts', 'jsonb, text[]', 'Some columns of a row, as the texts in which changes are kept.'],
  [
    'close_change',
    'bigint, text, text',
    'Ends a change as cancelled or rejected; the row gets back what it held.',
  ],
  ['forget_row', 'text, bigint', 'Removes a row that was never created, and what was to hang on it.'],
  ['free_waiting', 'bigint', 'Lets go on what waited for a change.'],
  [
    'rebase_later',
    'sync.changes, jsonb',
    'Corrects what later changes of a record were made from when this one came to nothing.',
  ],
  ['restore_row', 'sync.changes', 'Writes what a change was made from back into its row.'],
  ['lock_change', 'bigint, text[], text', 'Locks a change and its row, or refuses by its state.'],
];

/** The comments of the functions that carry changes. Those of the earlier migrations stand there. */
export function functionComments(): Comment[] {
  return [...forPeople, ...forTriggers, ...inside].map(([name, argumentTypes, text]) => ({
    kind: 'FUNCTION',
    name: ['sync', name],
    argumentTypes,
    text,
  }));
}
