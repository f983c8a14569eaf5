import {createHash, randomBytes, scrypt, timingSafeEqual} from 'node:crypto';
import {promisify} from 'node:util';
import type {Fields} from './field.ts';

const derive = promisify<string, Buffer, number, Buffer>(scrypt);
const HASH_BYTES = 32;

/** An API token: one per employee, as sensitive as the password. */
export function newToken(): string {
  return randomBytes(20).toString('hex');
}

/** @returns the salt and the hash, for `isPassword` */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  return `${salt.toString('hex')}:${(await derive(password, salt, HASH_BYTES)).toString('hex')}`;
}

/** Whether the hash is that of the password. */
export async function isPassword(password: string, hash: string): Promise<boolean> {
  const [salt = '', expected = ''] = hash.split(':');
  const actual = await derive(password, Buffer.from(salt, 'hex'), HASH_BYTES);
  return timingSafeEqual(actual, Buffer.from(expected, 'hex'));
}

/**
 * Credentials that the real service hands out with every employee (docs/service.md "Fields"), made
 * up: nothing can be learned from them. They are there so that a client can be proven to drop them.
 * @param origin - changes with the password, and so do these; it cannot be reckoned back from them
 */
export function makeUpCredentials(origin: string): Fields {
  const makeUp = (label: string) =>
    createHash('sha256').update(`made up: ${label} of ${origin}`).digest('hex').slice(0, 40);
  return {
    password_salt: makeUp('salt'),
    encrypted_password: makeUp('password'),
    remember_token: makeUp('remember token'),
  };
}
