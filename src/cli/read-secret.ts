import {createInterface} from 'node:readline/promises';
import {Writable} from 'node:stream';
import {text} from 'node:stream/consumers';
import {UsageError} from '../core/errors.ts';
import {Secret} from '../core/secret.ts';
import {tellAside} from '../core/text.ts';

/**
 * Reads a secret from standard input: a prompt that shows nothing on a terminal, else all there is.
 * Never an argument: every user of the machine sees those.
 * @param missing - the message where nothing came
 * @throws {UsageError} nothing came
 */
export async function readSecret(question: string, missing: string): Promise<Secret> {
  const typed = (
    process.stdin.isTTY ? await askHidden(question) : await text(process.stdin)
  ).trim();
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
