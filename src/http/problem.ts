// A problem, as RFC 9457 has it: the flaw, its place, the value expected, the value that came, the
// next step.

import {STATUS_CODES} from 'node:http';
import pg from 'pg';
import {z} from 'zod';
import {type ProblemKind, pageOfProblem} from './answer-pages.ts';

const flaw = z.object({
  in: z.enum(['body', 'query', 'path', 'header']),
  at: z.string().describe('JSON pointer into the body, or the name of the parameter or header.'),
  expected: z.string(),
  got: z.string().optional(),
});

/** One thing that is wrong with a request. */
export type Flaw = z.infer<typeof flaw>;

export const problemSchema = z
  .object({
    type: z.string().describe('urn:fieldmirror:problem: and a word that stays the same.'),
    title: z.string().describe('The status in words.'),
    status: z.int(),
    detail: z.string().optional().describe('What went wrong, this time.'),
    hint: z.string().optional().describe('What to do next.'),
    errors: z.array(flaw).optional().describe('Where it is wrong.'),
    docs: z
      .string()
      .describe('The number of the page with cause and mend: E24 is docs/errors/E24.md.'),
  })
  .describe('What went wrong: RFC 9457.');

type ProblemBody = z.infer<typeof problemSchema>;

interface Facts {
  readonly detail?: string;
  readonly hint?: string | undefined;
  readonly errors?: readonly Flaw[];
  readonly cause?: unknown;
}

/** A request that is answered with a problem. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly body: ProblemBody;

  /** @param kind - the end of its type: `refused` */
  constructor(status: number, kind: ProblemKind, {detail, hint, errors, cause}: Facts = {}) {
    super(detail ?? kind, {cause});
    this.body = {
      type: `urn:fieldmirror:problem:${kind}`,
      title: STATUS_CODES[status] ?? 'Problem',
      status,
      ...(detail === undefined ? {} : {detail}),
      ...(hint === undefined ? {} : {hint}),
      ...(errors === undefined ? {} : {errors: [...errors]}),
      docs: pageOfProblem(kind),
    };
  }
}

/** The column that a trigger's message refuses: `warehouse.jobs.scheduled_on: expected …`. */
const column = /^warehouse\.\w+\.(\w+): (?:expected )?(.*)$/s;

/**
 * Turns Postgres' refusal of one change into a problem in its own words: refusals of the triggers,
 * and values that a column does not take. Any other error comes back as it is.
 * @param at - JSON pointer to the change in the body
 */
export function explainRefusal(error: unknown, at: string): unknown {
  if (!(error instanceof pg.DatabaseError) || !/^(?:22|23|55000|P0)/.test(error.code ?? ''))
    return error;
  if (error.code === '23505' && error.constraint?.endsWith('_external_key')) {
    const detail = 'external_key: another row of the table has it';
    const errors = [
      {in: 'body' as const, at: `${at}/external_key`, expected: 'a key that no other row has'},
    ];
    return new Problem(422, 'refused', {
      detail,
      hint: 'Update that row instead.',
      errors,
      cause: error,
    });
  }
  const [, name, expected] = column.exec(error.message) ?? [];
  const place =
    name === undefined ? at : `${at}/${name.endsWith('_number') ? 'parent' : `fields/${name}`}`;
  return new Problem(422, 'refused', {
    detail: error.message,
    hint: error.hint,
    errors: [{in: 'body', at: place, expected: expected ?? 'a change that the service can take'}],
    cause: error,
  });
}
