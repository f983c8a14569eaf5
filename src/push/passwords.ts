// The private half of the keys that seal employees' passwords. With a FIELDMIRROR_KEY the half is
// kept in the warehouse, under that key's seal, for every process that has the key; without one
// only this process has the half, for as long as it lives. pgcrypto seals by OpenPGP, so OpenPGP
// opens. The library takes 100 ms to load: it is loaded only to make a key or to open a password.

import type {PrivateKey} from 'openpgp';
import type pg from 'pg';
import {
  forgetLoginKey,
  keepLoginKey,
  readLatestLoginKey,
  readSealedLogin,
} from '../accounts/seals.ts';
import {type Sealed, type SealingKey, Secret, seal, secretBounds, unseal} from '../core/secret.ts';

export interface PasswordsOptions {
  readonly pool: pg.Pool;
  /**
   * The first key seals private halves that are kept, all keys open them; without any, nothing is
   * kept.
   */
  readonly keys: readonly SealingKey[];
  /** Told of every password that is opened, so that a log can be kept clean of it. */
  readonly onPassword?: (password: Secret) => void;
}

/** RSA is what pgcrypto and OpenPGP have in common today. */
const keyBits = 3072;

/** Opens the passwords that were sealed for this process. */
export class Passwords {
  readonly #options: PasswordsOptions;
  readonly #opened = new Map<string, PrivateKey>();
  /** The key that was made here and is kept nowhere else. */
  #own: string | null = null;
  #making: Promise<void> | null = null;

  constructor(options: PasswordsOptions) {
    this.#options = options;
  }

  /** Whether a key made here outlives this process. */
  get isKept(): boolean {
    return this.#options.keys.length > 0;
  }

  /**
   * Has passwords sealed with a key that this process has. A new key takes about a second to make.
   */
  async makeReady(): Promise<void> {
    const latest = await readLatestLoginKey(this.#options.pool);
    if (
      latest !== null &&
      (this.#opened.has(latest.loginKeyId) || this.#canOpen(latest.sealedPrivateKey))
    )
      return;
    this.#making = this.#make();
    await this.#making;
  }

  /**
   * Opens the password of a change.
   * @returns null where another process has the key, or the password was dropped
   */
  async open(changeId: string): Promise<Secret | null> {
    const login = await readSealedLogin(this.#options.pool, changeId);
    if (login === null) return null;
    const key = await this.#find(login.loginKeyId, login.sealedPrivateKey);
    if (key === null) return null;
    const {decrypt, readMessage} = await import('openpgp');
    const message = await readMessage({binaryMessage: login.sealed});
    const {data} = await decrypt({message, decryptionKeys: key, format: 'binary'});
    const password = new Secret(Buffer.from(data).toString('utf8'));
    this.#options.onPassword?.(password);
    return password;
  }

  /** Takes back a key that ends with this process, so that nothing more is sealed with it. */
  async close(): Promise<void> {
    await this.#making?.catch(() => {});
    if (this.#own !== null) await forgetLoginKey(this.#options.pool, this.#own);
    this.#opened.clear();
  }

  #canOpen(sealed: Sealed | null): sealed is Sealed {
    return sealed !== null && this.#options.keys.some(({id}) => id === sealed.keyId);
  }

  async #find(loginKeyId: string, sealed: Sealed | null): Promise<PrivateKey | null> {
    const held = this.#opened.get(loginKeyId);
    if (held !== undefined || !this.#canOpen(sealed)) return held ?? null;
    const {readPrivateKey} = await import('openpgp');
    const opened = unseal(sealed, this.#options.keys, secretBounds.login_keys(loginKeyId));
    const key = await readPrivateKey({binaryKey: Buffer.from(opened.reveal(), 'base64')});
    this.#opened.set(loginKeyId, key);
    return key;
  }

  async #make(): Promise<void> {
    const {generateKey} = await import('openpgp');
    const {publicKey, privateKey} = await generateKey({
      type: 'rsa',
      rsaBits: keyBits,
      userIDs: [{name: 'fieldmirror'}],
      format: 'object',
    });
    const loginKeyId = publicKey.getFingerprint();
    const [key] = this.#options.keys;
    const text = new Secret(Buffer.from(privateKey.write()).toString('base64'));
    await keepLoginKey(this.#options.pool, {
      loginKeyId,
      publicKey: Buffer.from(publicKey.write()),
      sealedPrivateKey:
        key === undefined ? null : seal(text, key, secretBounds.login_keys(loginKeyId)),
    });
    this.#opened.set(loginKeyId, privateKey);
    if (key === undefined) this.#own = loginKeyId;
  }
}
