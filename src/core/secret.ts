// Secrets in memory, in files, and tokens at rest: AES-256-GCM, with a key from outside the
// database. A seal is bound to its account, so that a row copied over another one does not open. It
// names its key, so that a wrong key can be distinguished from a damaged seal.

import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import {readFileSync, statSync} from 'node:fs';
import {inspect} from 'node:util';
import {FatalError, UsageError} from './errors.ts';

/**
 * A text that no log, error or dump can print by accident; only `reveal` returns it, to the code
 * that sends it.
 */
export class Secret {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  reveal(): string {
    return this.#text;
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}

/**
 * Reads a file that holds a secret.
 * @throws {UsageError} others may read it; not checked on Windows, whose file modes do not show
 *   that
 */
export function readPrivateFile(path: string): string {
  const mode = statSync(path).mode & 0o777;
  if ((mode & 0o077) !== 0 && process.platform !== 'win32') {
    const got = mode.toString(8).padStart(4, '0');
    throw new UsageError(
      `expected a file that only its owner can read, got mode ${got} of ${path}: chmod 600 ${path}`,
    );
  }
  return readFileSync(path, 'utf8').trim();
}

/** A key that seals and opens; dumps do not show it. */
export interface SealingKey {
  /** A short fingerprint: it distinguishes keys and reveals nothing of them. */
  readonly id: string;
  readonly key: KeyObject;
}

/** A sealed token as it is stored. */
export interface Sealed {
  readonly keyId: string;
  /** The version, the nonce, the tag, the token. */
  readonly bytes: Buffer;
}

const version = 1;
const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes + tagBytes;
const cipher = 'aes-256-gcm';

/**
 * Reads keys: base64 of 32 bytes each, separated by commas. The first seals, all open.
 * @throws {UsageError} one of them is invalid; its text is not quoted
 */
export function parseKeys(text: string): SealingKey[] {
  return text.split(',').map((part, at) => {
    const keyText = part.trim();
    const bytes = Buffer.from(keyText, 'base64');
    // Buffer.from skips characters that are not base64, and so would accept half a key.
    const isWhole = bytes.length === keyBytes && /^[A-Za-z0-9+/]{43}=?$/.test(keyText);
    if (!isWhole) {
      const position = at === 0 ? '' : ` as key ${at + 1}`;
      throw new UsageError(`expected 32 bytes in base64${position} (openssl rand -base64 32)`);
    }
    const id = createHmac('sha256', bytes).update('fieldmirror key id').digest('hex').slice(0, 8);
    return {id, key: createSecretKey(bytes)};
  });
}

/** A new key, as `parseKeys` reads it. */
export function makeKey(): Secret {
  return new Secret(randomBytes(keyBytes).toString('base64'));
}

/** Seals an account's token with a key; no two seals are alike. */
export function seal(token: Secret, {id, key}: SealingKey, accountId: string): Sealed {
  const nonce = randomBytes(nonceBytes);
  const sealing = createCipheriv(cipher, key, nonce, {authTagLength: tagBytes});
  sealing.setAAD(toBoundBytes(accountId));
  const text = Buffer.concat([sealing.update(token.reveal(), 'utf8'), sealing.final()]);
  return {keyId: id, bytes: Buffer.concat([Buffer.of(version), nonce, sealing.getAuthTag(), text])};
}

/**
 * Opens the seal of an account's token.
 * @throws {FatalError} none of the keys sealed it, or it is damaged or of another account; the
 *   message shows nothing of it
 */
export function unseal(sealed: Sealed, keys: readonly SealingKey[], accountId: string): Secret {
  const usedKey = keys.find(({id}) => id === sealed.keyId);
  if (usedKey === undefined) {
    const givenText =
      keys.length === 0 ? 'no key is given' : `the key given is ${listKeyIds(keys)}`;
    throw new FatalError(
      `its token is sealed with key ${sealed.keyId}, ${givenText}; give that key in ` +
        'FIELDMIRROR_KEY, or seal the token again with fieldmirror accounts add',
      {kind: 'key'},
    );
  }
  const {bytes} = sealed;
  if (bytes[0] !== version)
    throw new FatalError(
      `the seal of its token: expected version ${version}, got ${bytes[0] ?? 'nothing'}; a ` +
        'newer Fieldmirror wrote it: update this one',
      {kind: 'key'},
    );
  try {
    const tag = bytes.subarray(1 + nonceBytes, headBytes);
    const nonce = bytes.subarray(1, 1 + nonceBytes);
    const opening = createDecipheriv(cipher, usedKey.key, nonce, {authTagLength: tagBytes});
    opening.setAAD(toBoundBytes(accountId)).setAuthTag(tag);
    return new Secret(
      Buffer.concat([opening.update(bytes.subarray(headBytes)), opening.final()]).toString(),
    );
  } catch (cause) {
    throw new FatalError(
      `the seal of its token is damaged, or was made for another account (key ${usedKey.id} is ` +
        'right); seal the token again with fieldmirror accounts add',
      {cause, kind: 'key'},
    );
  }
}

/**
 * A mark that shows whether two processes have the same token; it reveals nothing of the token.
 * @param salt - a different one for each process that shows a mark, so that only a holder of the
 *   token can compare marks
 */
export function markToken(token: Secret, salt: string): string {
  return createHmac('sha256', `fieldmirror token mark ${salt}`)
    .update(token.reveal())
    .digest('hex')
    .slice(0, 8);
}

/** The text that a seal is bound to, by the kind of secret: none opens as one of another kind. */
export const secretBounds = {
  accounts: (accountId: string) => accountId,
  alert_rules: (name: string) => `alert rule ${name}`,
  feed_hooks: (name: string) => `subscriber ${name}`,
} as const;

function toBoundBytes(accountId: string): Buffer {
  return Buffer.concat([Buffer.of(version), Buffer.from(accountId)]);
}

function listKeyIds(keys: readonly SealingKey[]): string {
  return keys.map(({id}) => id).join(', ');
}
