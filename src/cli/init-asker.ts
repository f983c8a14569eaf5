import {createInterface, type Interface} from 'node:readline/promises';
import {Writable} from 'node:stream';
import {UsageError} from '../core/errors.ts';
import {drawAside, tellAside} from '../core/text.ts';

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
