import {createHash, randomBytes} from 'node:crypto';
import {Secret} from '../core/secret.ts';

const randomLength = 32;
const ending = /^[A-Za-z0-9_-]{43}$/;

/** Makes a text that cannot be guessed: 32 random bytes behind a prefix that says what it opens. */
export function makeToken(prefix: string): Secret {
  return new Secret(prefix + randomBytes(randomLength).toString('base64url'));
}

/** Whether a text has the form of `makeToken`: what has not is never looked up. */
export function isToken(text: string, prefix: string): boolean {
  return text.startsWith(prefix) && ending.test(text.slice(prefix.length));
}

/** SHA-256: 32 random bytes need no slow hash. */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
