import {expect} from 'vitest';
import type {Value} from '../../src/api/xml-document.ts';
import {readList} from '../../src/api/xml-strict.ts';
import {type FatalError, RetryableError} from '../../src/core/errors.ts';

export const JOBS = {list: 'jobs', item: 'job'};

/** Reads a list of jobs. */
export function readJobs(xml: string | Buffer, contentType: string | null = null) {
  return readList(Buffer.from(xml), JOBS, {thing: 'GET /jobs.xml at test', contentType});
}

/** The fields of a record as a plain object, for records that name no field twice. */
export function fieldsOf(record: Value | undefined): Record<string, unknown> {
  if (record === null || record === undefined || typeof record === 'string') return {};
  return Object.fromEntries(
    record.names.map((name, at) => [name, plain(record.values[at] ?? null)]),
  );
}

function plain(value: Value): unknown {
  return typeof value === 'string' || value === null
    ? value
    : {
        isArray: value.isArray,
        items: value.names.map((name, at) => [name, plain(value.values[at] ?? null)]),
      };
}

/** The error of a list that is refused; it must be worth a retry, unless it is said to be final. */
export function failureOf(
  xml: string | Buffer,
  contentType: string | null = null,
  kind: typeof RetryableError | typeof FatalError = RetryableError,
): Error {
  try {
    readJobs(xml, contentType);
  } catch (error) {
    expect(error).toBeInstanceOf(kind);
    if (error instanceof Error) return error;
  }
  throw new Error('it was accepted');
}
