import {createInterface} from 'node:readline/promises';
import {text} from 'node:stream/consumers';
import {UsageError} from '../core/errors.ts';
import {tellAside} from '../core/text.ts';

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
    `expected ${name} to be typed back ${act}, got ${got}; nothing was done. In a script: echo ${name} | fieldmirror …`,
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
