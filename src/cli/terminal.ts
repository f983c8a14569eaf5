// The output of verbs, and questions to a person: wrapped lines, the next steps, a page of the
// documents; secrets, a name to be typed back, questions one after the other.

import {createInterface, type Interface} from 'node:readline/promises';
import {Writable} from 'node:stream';
import {text} from 'node:stream/consumers';
import {UsageError} from '../core/errors.ts';
import {formatTable} from '../core/format.ts';
import {demoName} from '../core/names.ts';
import {findCodeSection, listCodeSections} from '../core/package.ts';
import {Secret} from '../core/secret.ts';
import {
  foldWords,
  printErr,
  printFolded,
  printKeystrokes,
  printOut,
  quoteWord,
  toPrintable,
  widthOf,
} from '../core/text.ts';
import {awaitTyped, signalCtrlC} from './stop.ts';

/** How a verb prints its result: as JSON, or as text for a person. */
export interface OutputOptions {
  readonly json: boolean;
}

/** The result of a verb, for a program and for a person. */
interface Result {
  readonly json: unknown;
  readonly text: string;
  /** A text that a person copies or a program reads, such as SQL: it is never wrapped. */
  readonly isDocument?: boolean;
}

/** Prints for a person, in lines that fit the terminal, or one JSON document for a program. */
export function print(isJson: boolean, {json, text, isDocument = false}: Result): void {
  if (isJson) printOut(`${JSON.stringify(json, null, 2)}\n`);
  else if (isDocument) printOut(`${text}\n`);
  else printFolded(`${text}\n`);
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
  // Characters that a terminal must not get become longer when they are printed.
  const printable = rows.map((row) =>
    row.map((cell) => (typeof cell === 'string' ? toPrintable(cell) : cell)),
  );
  return formatTable(head, printable, {numbers, width: widthOf(process.stdout)});
}

/**
 * Wraps a long line between words; further lines are indented more.
 * @param hanging - by how much
 */
export function wrap(line: string, hanging = 4): string {
  const [, first = '', text = ''] = /^( *)(.*)$/s.exec(line) ?? [];
  const folding = {width: lineWidth(), first, next: first + ' '.repeat(hanging)};
  return foldWords(text, folding).join('\n');
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A verb, with its options, as the reader would type it here. If npm runs this program, PATH may
 * have no program of our name. In a checkout the scripts of its package.json run the source, and
 * npx finds an installed program.
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
 * @param account - the name of the account of the environment, or of the made-up one; null if there
 *   is neither
 */
export function formatNextSteps(account: string | null, env: Environment = process.env): string {
  const call = (verb: string) => callOf(verb, env);
  const steps: readonly (readonly [string, string])[] = [
    [call('status'), 'health, and how old the knowledge of each stream can be'],
    [call('start'), 'stays, mirrors by its schedules, and prints a link to the console'],
    account === demoName
      ? [`${call('reset')} && ${call('init')}`, 'your own account in place of the made-up one']
      : [call('ask'), 'the questions of an owner that have an answer'],
  ];
  const width = Math.max(...steps.map(([line]) => line.length));
  return [
    'What next:',
    ...steps.map(([line, description]) => `  ${line.padEnd(width)}  # ${description}`),
  ].join('\n');
}

/**
 * Prints the section about the code of an error or of an alert. It needs only the documents.
 * @returns the exit code
 * @throws {UsageError} no such code
 */
export function explainCode(code: string, {json}: OutputOptions): number {
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
 * A terminal shows no links: a link to another page becomes its number, and a link to a document
 * its name.
 */
function toPlain(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, (_, text: string, href: string) => {
    const name = /([\w-]+\.md)/.exec(href)?.[1];
    return name === undefined || text === name || `${text}.md` === name
      ? text
      : `${text} (docs: ${name})`;
  });
}

const nothingDone = 'Nothing was done.';

/**
 * Reads a secret: on a terminal with a prompt that shows nothing, else all of standard input. A
 * secret is never an argument: every user of the machine sees those.
 * @param missing - the message if nothing came
 * @param options.keepsBlanks - for a secret that may begin or end with blanks: only one newline at
 *   its end is removed
 * @param options.fallback - the secret if standard input is at its end, or if nothing is typed at
 *   the prompt, which says so
 * @throws {UsageError} nothing came
 */
export async function readSecret(
  question: string,
  missing: string,
  {keepsBlanks = false, fallback = null}: SecretOptions = {},
): Promise<Secret> {
  const isTerminal = process.stdin.isTTY;
  const input = isTerminal ? await readHiddenAnswer(question) : await readInput(fallback);
  const typed = keepsBlanks ? input?.replace(/\r?\n$/, '') : input?.trim();
  if (typed !== undefined && typed !== '') return new Secret(typed);
  // An empty line in a pipe is a secret that its writer does not have.
  const isLeftOut = isTerminal ? input === '' : input === null;
  if (isLeftOut && fallback !== null) return fallback.secret;
  throw new UsageError(missing);
}

interface SecretOptions {
  readonly keepsBlanks?: boolean;
  readonly fallback?: Fallback | null;
}

interface Fallback {
  readonly secret: Secret;
  /** The setting that has it, for a person. */
  readonly name: string;
}

const inputHintMs = 3_000;

/** @returns null if standard input is at its end at once */
async function readInput(fallback: Fallback | null): Promise<string | null> {
  const hint = setTimeout(() => {
    const way = fallback === null ? '' : `; with </dev/null it takes ${fallback.name}`;
    printErr(`It waits for the end of standard input${way}\n`);
  }, inputHintMs);
  try {
    const input = await awaitTyped(text(process.stdin), nothingDone);
    return input === '' ? null : input;
  } finally {
    clearTimeout(hint);
  }
}

/** @returns null if the person ended it */
async function readHiddenAnswer(question: string): Promise<string | null> {
  printErr(question);
  const discardedOutput = new Writable({write: (_chunk, _encoding, done) => done()});
  const readline = createInterface({input: process.stdin, output: discardedOutput, terminal: true});
  readline.on('SIGINT', signalCtrlC);
  try {
    const cancelled = new Promise<null>((done) => readline.once('close', () => done(null)));
    return await awaitTyped(Promise.race([readline.question(''), cancelled]), nothingDone);
  } finally {
    readline.close();
    printErr('\n');
  }
}

/**
 * Lets a person type back the name that an act is about, so that it is not done by mistake. The
 * name is read with a question on a terminal, else from the first line of standard input. Spaces
 * count once, and accents in either form: a name of the service may hold what no one can type.
 * @param act - the act, as `to remove the account`
 * @throws {UsageError} something else was typed, or nothing: nothing was done
 * @throws {StoppedError} a person stopped it: nothing was done
 */
export async function typeBack(act: string, name: string): Promise<void> {
  const expected = toTyped(name);
  const question = `Type ${expected} ${act}: `;
  const typed = toTyped(process.stdin.isTTY ? await readAnswer(question) : await readLine());
  if (typed !== '' && typed === expected) return;
  const gotText = typed === '' ? 'nothing' : `"${typed}"`;
  throw new UsageError(
    `expected ${expected} to be typed back ${act}, got ${gotText}; nothing was done. ` +
      `In a script: echo ${quoteWord(expected)} | fieldmirror …`,
  );
}

function toTyped(name: string): string {
  return name.normalize('NFC').trim().replaceAll(/\s+/g, ' ');
}

async function readAnswer(question: string): Promise<string> {
  printErr(question);
  const readline = createInterface({input: process.stdin});
  try {
    const cancelled = new Promise<string>((done) => readline.once('close', () => done('')));
    return await awaitTyped(Promise.race([readline.question(''), cancelled]), nothingDone);
  } finally {
    readline.close();
  }
}

async function readLine(): Promise<string> {
  return (await awaitTyped(text(process.stdin), nothingDone)).split('\n')[0] ?? '';
}

/** Prompts a person at a terminal, one question after the other. */
export class Prompter {
  readonly #lines: Interface;
  readonly #closed: Promise<never>;
  #isHidden = false;

  constructor() {
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!this.#isHidden) printKeystrokes(chunk);
        done();
      },
    });
    this.#lines = createInterface({input: process.stdin, output, terminal: true});
    this.#lines.on('SIGINT', signalCtrlC);
    this.#closed = new Promise((_, failed) => {
      this.#lines.once('close', () =>
        failed(new UsageError('\ninit: it was ended; no file was written')),
      );
    });
    this.#closed.catch(() => {});
  }

  /**
   * Repeats a question until an answer is accepted.
   * @param defaultAnswer - the answer if nothing is typed; null if an answer is required
   * @param convert - converts the answer; the message of its UsageError is printed, and the
   *   question is repeated
   * @throws {UsageError | StoppedError} the person ended it
   */
  async ask<T>(
    question: string,
    defaultAnswer: string | null,
    convert: (answer: string) => T | Promise<T>,
    {isHidden = false} = {},
  ): Promise<T> {
    const defaultText = defaultAnswer === null || defaultAnswer === '' ? '' : ` [${defaultAnswer}]`;
    for (;;) {
      const typed = await this.#read(`${question}${defaultText}: `, isHidden);
      const answer = typed === '' ? defaultAnswer : typed;
      if (answer === null) continue;
      try {
        return await convert(answer);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        this.tell(error.message);
      }
    }
  }

  /** Prints how an answer was found. */
  tell(text: string): void {
    printErr(`${text}\n`);
  }

  close(): void {
    this.#lines.close();
  }

  async #read(prompt: string, isHidden: boolean): Promise<string> {
    // Readline prints its prompt again at each key, so it must know the prompt. For a hidden answer
    // it prints nothing, so the prompt is printed here.
    if (isHidden) printErr(prompt);
    this.#isHidden = isHidden;
    try {
      const answered = Promise.race([this.#lines.question(isHidden ? '' : prompt), this.#closed]);
      const typed = await awaitTyped(answered, 'No file was written.');
      return typed.trim();
    } finally {
      this.#isHidden = false;
      if (isHidden) printErr('\n');
    }
  }
}
