// What all verbs print alike: lines that break, the next steps, a page of the documents.

import {UsageError} from '../core/errors.ts';
import {demoName} from '../core/names.ts';
import {findCodeSection, listCodeSections} from '../core/package.ts';
import {drawTable} from '../core/table.ts';
import {foldWords, tell, tellFolded, toPrintable, widthOf} from '../core/text.ts';

/** What a verb found out, for a program and for a person. */
interface Result {
  readonly json: unknown;
  readonly text: string;
  /** A text that somebody copies or a program reads, such as SQL: it is never folded. */
  readonly isDocument?: boolean;
}

/** Prints for a person, in lines that fit the terminal, or one JSON document for a program. */
export function print(isJson: boolean, {json, text, isDocument = false}: Result): void {
  if (isJson) tell(`${JSON.stringify(json, null, 2)}\n`);
  else if (isDocument) tell(`${text}\n`);
  else tellFolded(`${text}\n`);
}

/** Lines for a person are at most this wide, and no wider than the terminal. */
export function lineWidth(): number {
  return Math.min(widestLine, widthOf(process.stdout) ?? widestLine);
}

const widestLine = 110;

/** A table that fits the terminal. @param numbers - columns of numbers that are given as texts */
export function fitTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  numbers: readonly number[] = [],
): string {
  // What a terminal must not get is longer as it is printed.
  const printable = rows.map((row) =>
    row.map((cell) => (typeof cell === 'string' ? toPrintable(cell) : cell)),
  );
  return drawTable(head, printable, {numbers, width: widthOf(process.stdout)});
}

/**
 * Breaks a long line between words; further lines are indented more. @param hanging - by how much
 */
export function wrap(line: string, hanging = 4): string {
  const [, first = '', text = ''] = /^( *)(.*)$/s.exec(line) ?? [];
  const folding = {width: lineWidth(), first, next: first + ' '.repeat(hanging)};
  return foldWords(text, folding).join('\n');
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A verb, with its options, as the reader would type it at this place. Where npm runs us no program
 * of our name need be in PATH: in a checkout the scripts of its package.json run the source, and
 * npx finds a program that was installed.
 */
export function callOf(verb: string, env: Environment = process.env): string {
  const {npm_lifecycle_event: event, npm_lifecycle_script: script = ''} = env;
  if (event === undefined) return `fieldmirror ${verb}`;
  if (!script.includes('src/main.ts')) return `npx fieldmirror ${verb}`;
  if (!/^start\b/.test(verb)) return `npm run -s fieldmirror -- ${verb}`;
  return verb.replace(/^start/, 'npm start').replace(' --', ' -- --');
}

/**
 * The lines that a reader may copy after a first look.
 * @param account - the name of the account of the environment, or of the made-up one; null where
 *   there is neither
 */
export function drawNextSteps(account: string | null, env: Environment = process.env): string {
  const call = (verb: string) => callOf(verb, env);
  const steps: readonly (readonly [string, string])[] = [
    [call('status'), 'health, and how old the knowledge of each stream can be'],
    [call('start'), 'stays, mirrors by its schedules, and prints a link to the console'],
    account === demoName
      ? [`${call('reset')} && ${call('init')}`, 'your own account in place of the made-up one']
      : [call('ask'), 'the questions of an owner that have an answer'],
  ];
  const width = Math.max(...steps.map(([line]) => line.length));
  return ['What next:', ...steps.map(([line, told]) => `  ${line.padEnd(width)}  # ${told}`)].join(
    '\n',
  );
}

/**
 * Prints the section about the code of an error or of an alert. It needs nothing but the documents.
 * @returns the exit code
 * @throws {UsageError} no such code
 */
export function explainCode(code: string, {json}: {readonly json: boolean}): number {
  const section = findCodeSection(code);
  if (section === null) throw new UsageError(`explain: no code ${code}; there are ${listCodes()}`);
  const {document, anchor} = section;
  const text = section.text.trim();
  print(json, {json: {code: section.code, document, anchor, text}, text: toPlain(text)});
  return 0;
}

function listCodes(): string {
  const ranges = Map.groupBy(listCodeSections(), ({document}) => document).values();
  return [...ranges].map((range) => `${range[0]?.code} to ${range.at(-1)?.code}`).join(', ');
}

/**
 * A terminal shows no links: of one to another page its number is left, of one to a document its
 * name.
 */
function toPlain(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, (_, text: string, href: string) => {
    const name = /([\w-]+\.md)/.exec(href)?.[1];
    return name === undefined || text === name || `${text}.md` === name
      ? text
      : `${text} (docs: ${name})`;
  });
}
