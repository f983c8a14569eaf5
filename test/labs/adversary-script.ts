// A list of jobs for a movement of the list that must come exactly so: a test says page by page
// what each pass over it shows, and which records the service knows by their number.

import type {ServerResponse} from 'node:http';
import {job, list, scriptService} from '../support/scripted-service.ts';

/** One request: a page with all its fields, a page of keys, or a record by its number. */
export interface Question {
  readonly kind: 'page' | 'keys' | 'record';
  /** The number of the page, or of the record. */
  readonly number: number;
}

export interface JobScript {
  /** Pages of numbers, as the pass with all fields sees them; past the end there is nothing. */
  pages: readonly (readonly number[])[];
  /** The same for the pass that asks for keys; null: as `pages`. */
  keys: readonly (readonly number[])[] | null;
  /** Records that are found by their number; null: all that any page shows. */
  known: readonly number[] | null;
  /** More XML of a record, for the question that it answers. */
  more: (number: number, question: Question) => string;
  /** Returns true where it has answered the question itself. */
  twist: (question: Question, response: ServerResponse) => boolean;
  /** Every question so far. */
  readonly questions: Question[];
  readonly url: string;
  readonly token: string;
  close(): Promise<void>;
}

/** @param pages - the pages that every pass shows until a test changes them */
export async function scriptJobs(pages: readonly (readonly number[])[]): Promise<JobScript> {
  const questions: Question[] = [];
  const service = await scriptService(({url = ''}, response) => {
    const question = readQuestion(url);
    if (question === null) return false;
    questions.push(question);
    if (!script.twist(question, response)) answer(script, question, response);
    return true;
  });
  const script: JobScript = {
    ...service,
    pages,
    keys: null,
    known: null,
    more: () => '',
    twist: () => false,
    questions,
  };
  return script;
}

/** Answers with a status and a body, as any server between may. */
export function refuse(
  response: ServerResponse,
  status: number,
  answer: {readonly body: string; readonly contentType?: string},
): true {
  const contentType = answer.contentType ?? 'application/xml; charset=utf-8';
  response.writeHead(status, {'content-type': contentType}).end(answer.body);
  return true;
}

/** The service's own words for a refusal. */
export function words(text: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<errors>\n  <error>${text}</error>\n</errors>\n`;
}

function readQuestion(url: string): Question | null {
  const {pathname, searchParams} = new URL(url, 'http://localhost');
  const number = /^\/jobs\/(\d+)\.xml$/.exec(pathname)?.[1];
  if (number !== undefined) return {kind: 'record', number: Number(number)};
  if (pathname !== '/jobs.xml') return null;
  const kind = searchParams.has('only') ? 'keys' : 'page';
  return {kind, number: Number(searchParams.get('page') ?? 1)};
}

function answer(script: JobScript, question: Question, response: ServerResponse): void {
  const {pages, keys, known, more} = script;
  if (question.kind === 'record') {
    const isKnown = (known ?? [...pages, ...(keys ?? [])].flat()).includes(question.number);
    if (!isKnown) refuse(response, 400, {body: words('Invalid job.')});
    else response.end(job(question.number, more(question.number, question)));
    return;
  }
  const shown = (question.kind === 'keys' ? (keys ?? pages) : pages)[question.number - 1] ?? [];
  const records = shown.map((number) =>
    question.kind === 'keys'
      ? `<job><job-number type="integer">${number}</job-number></job>`
      : job(number, more(number, question)),
  );
  response.end(list('jobs', records));
}
