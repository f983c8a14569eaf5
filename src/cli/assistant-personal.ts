import {UsageError} from '../core/errors.ts';
import {findStream} from '../streams/all.ts';
import type {Question} from './explain.ts';

/** Their rows are about people, whatever the field. */
const aboutPeople = new Set(['customers', 'employees']);

/**
 * Lets an assistant that is not to learn the names of people ask where a number, a date or a yes or
 * no of a job or a task came from: texts may name anybody.
 * @throws {UsageError} the story would tell more
 */
export function checkExplained({stream, field}: Question): void {
  const {table} = findStream(stream);
  const column = table.columns.find(({name}) => name === field?.toLowerCase().replaceAll('-', '_'));
  if (!aboutPeople.has(stream) && column !== undefined && column.type !== 'text') return;
  throw new UsageError(
    `explain: ${stream}${field === undefined ? '' : `, ${field}`}: expected a field of jobs or tasks that holds no text, for others may name people; the person who runs this server may start it with --personal`,
  );
}
