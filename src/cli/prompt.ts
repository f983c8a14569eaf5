// What a person is asked at the terminal: secrets, a name to be typed back, questions one after the
// other.

import {createInterface, type Interface} from 'node:readline/promises';
import {Writable} from 'node:stream';
import {text} from 'node:stream/consumers';
import {UsageError} from '../core/errors.ts';
import {Secret} from '../core/secret.ts';
import {drawAside, tellAside} from '../core/text.ts';

/**
 * Reads a secret from standard input: a prompt that shows nothing on a terminal, else all there is.
 * Never an argument: every user of the machine sees those.
 * @param missing - the message where nothing came
 * @param options.keepsBlanks - for a secret that may begin or end with blanks: it loses no more
 *   than one newline at its end
 * @throws {UsageError} nothing came
 */
export async function readSecret(
  question: string,
  missing: string,
  {keepsBlanks = false} = {},
): Promise<Secret> {
  const came = process.stdin.isTTY ? await askHidden(question) : await text(process.stdin);
  const typed = keepsBlanks ? came.replace(/\r?\n$/, '') : came.trim();
  if (typed !== '') return new Secret(typed);
  throw new UsageError(missing);
}

async function askHidden(question: string): Promise<string> {
  tellAside(question);
  const nowhere = new Writable({write: (_chunk, _encoding, done) => done()});
  const lines = createInterface({input: process.stdin, output: nowhere, terminal: true});
  try {
    const cancelled = new Promise<string>((done) => lines.once('close', () => done('')));
    return await Promise.race([lines.question(''), cancelled]);
  } finally {
    lines.close();
    tellAside('\n');
  }
}

/**
 * Lets a person type back the name of what an act is about, so that it is not done by a slip: at a
 * terminal by a question, else by the first line of standard input.
 * @param act - what would be done, as `to remove the account`
 * @throws {UsageError} something else was typed, or nothing: nothing was done
 */
export async function typeBack(act: string, name: string): Promise<void> {
  const typed = process.stdin.isTTY ? await ask(`Type ${name} ${act}: `) : await readLine();
  if (typed.trim() === name) return;
  const got = typed.trim() === '' ? 'nothing' : `"${typed.trim()}"`;
  throw new UsageError(
    `expected ${name} to be typed back ${act}, got ${got}; nothing was done. In a script: ` +
      `echo ${name} | fieldmirror …`,
  );
}

async function ask(question: string): Promise<string> {
  tellAside(question);
  const lines = createInterface({input: process.stdin});
  try {
    const cancelled = new Promise<string>((done) => lines.once('close', () => done('')));
    return await Promise.race([lines.question(''), cancelled]);
  } finally {
    lines.close();
  }
}

async function readLine(): Promise<string> {
  return (await text(process.stdin)).split('\n')[0] ?? '';
}

/** Asks a person at a terminal, one question after the other. */
export class Asker {
  readonly #lines: Interface;
  readonly #closed: Promise<never>;
  #isHidden = false;

  constructor() {
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        if (!this.#isHidden) drawAside(chunk);
        done();
      },
    });
    this.#lines = createInterface({input: process.stdin, output, terminal: true});
    this.#closed = new Promise((_, failed) => {
      this.#lines.once('close', () =>
        failed(new UsageError('\ninit: it was ended; no file was written')),
      );
    });
    this.#closed.catch(() => {});
  }

  /**
   * Asks until an answer is taken.
   * @param otherwise - taken where nothing is typed; null where something must be
   * @param take - makes of the answer what is wanted; its UsageError is told, and the question
   *   comes again
   * @throws {UsageError} the person ended it
   */
  async ask<T>(
    question: string,
    otherwise: string | null,
    take: (answer: string) => T | Promise<T>,
    {isHidden = false} = {},
  ): Promise<T> {
    const shown = otherwise === null || otherwise === '' ? '' : ` [${otherwise}]`;
    for (;;) {
      const typed = await this.#read(`${question}${shown}: `, isHidden);
      const answer = typed === '' ? otherwise : typed;
      if (answer === null) continue;
      try {
        return await take(answer);
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        this.tell(error.message);
      }
    }
  }

  /** Tells how an answer was found. */
  tell(text: string): void {
    tellAside(`${text}\n`);
  }

  close(): void {
    this.#lines.close();
  }

  async #read(prompt: string, isHidden: boolean): Promise<string> {
    // Readline draws its prompt anew at each key, so that it has to know it; of a hidden answer it
    // draws nothing.
    if (isHidden) tellAside(prompt);
    this.#isHidden = isHidden;
    try {
      const typed = await Promise.race([
        this.#lines.question(isHidden ? '' : prompt),
        this.#closed,
      ]);
      return typed.trim();
    } finally {
      this.#isHidden = false;
      if (isHidden) tellAside('\n');
    }
  }
}
