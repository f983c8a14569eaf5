import type pg from 'pg';
import {createClient} from '../api/client.ts';
import {createTransport, type Transport, type TransportOptions} from '../api/transport.ts';
import {FatalError} from '../errors.ts';
import {type SealingKey, unseal} from '../seal.ts';
import type {Secret} from '../secret.ts';
import {type Account, readAccountAccess, type SealedToken} from '../warehouse/accounts.ts';
import type {AccountApi} from './sweep-deps.ts';

/** What it takes to open any account that this process may open. */
export interface AccountsOptions {
  readonly pool: pg.Pool;
  /** Opens tokens that are sealed in the warehouse; none, and only those given apart are known. */
  readonly keys: readonly SealingKey[];
  readonly allowHttp: boolean;
  readonly transport?: Pick<TransportOptions, 'retry' | 'limits' | 'throttle'>;
  /** Told of every token that is opened, so that a log can be kept clean of it. */
  readonly onToken?: (token: Secret) => void;
}

/** How an account is reached, given apart from its row. */
export interface GivenAccess {
  readonly apiUrl: string;
  readonly token: Secret;
}

interface Open {
  /** By what it was opened: when that has changed, it is opened anew. */
  readonly by: string;
  readonly transport: Transport;
  readonly api: AccountApi['api'];
}

/** The ways to the accounts that this process serves, each opened when it is first needed, and kept. */
export class Accounts {
  readonly #options: AccountsOptions;
  readonly #given = new Map<string, GivenAccess>();
  readonly #open = new Map<string, Open>();
  /** Replaced while sweeps may still be on them; idle connections close by themselves. */
  readonly #replaced: Transport[] = [];

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /**
   * Makes known what is not in the warehouse: the environment's account, the demo. Its address goes before the row's,
   * which another demo on the same warehouse may have moved.
   */
  give(accountId: string, access: GivenAccess): void {
    this.#given.set(accountId, access);
  }

  /** What a query needs to find the accounts whose tokens are known here. */
  get known(): {readonly accountIds: readonly string[]; readonly keyIds: readonly string[]} {
    return {accountIds: [...this.#given.keys()], keyIds: this.#options.keys.map(({id}) => id)};
  }

  /**
   * Opens the way to an account: the same one at every call, until the account gets another address or token or is
   * resumed. A token given apart goes before a sealed one.
   * @throws {FatalError} there is no such account, or nobody knows its token here
   */
  async open(accountId: string): Promise<AccountApi> {
    const account = await readAccountAccess(this.#options.pool, accountId);
    if (account === null)
      throw new FatalError(`account ${accountId}: expected it in sync.accounts, got nothing`);
    const {timeZone} = account;
    const baseUrl = this.#given.get(accountId)?.apiUrl ?? account.apiUrl;
    const by = JSON.stringify([baseUrl, account.stateSince, account.sealed?.bytes.toString('base64')]);
    const held = this.#open.get(accountId);
    if (held?.by === by) return {api: held.api, timeZone};
    const transport = this.#openTransport(account, baseUrl);
    const opened = {by, transport, api: createClient(transport)};
    if (held !== undefined) this.#replaced.push(held.transport);
    this.#open.set(accountId, opened);
    return {api: opened.api, timeZone};
  }

  /** Cuts what is under way, and closes all connections. */
  async close(): Promise<void> {
    const transports = [...this.#open.values()]
      .map(({transport}) => transport)
      .concat(this.#replaced.splice(0));
    this.#open.clear();
    await Promise.all(transports.map((transport) => transport.close()));
  }

  #openTransport(account: Account & {readonly sealed: SealedToken | null}, baseUrl: string): Transport {
    const {keys, allowHttp, transport, onToken} = this.#options;
    const token = this.#given.get(account.accountId)?.token ?? openToken(account, keys);
    onToken?.(token);
    return createTransport({...transport, baseUrl, token, allowHttp});
  }
}

/**
 * The token of an account, from the seal it is kept under.
 * @throws {FatalError} there is no seal, or the keys do not open it; the message names the account and the step
 */
export function openToken(
  {accountId, name, sealed}: Pick<Account, 'accountId' | 'name'> & {readonly sealed: SealedToken | null},
  keys: readonly SealingKey[],
): Secret {
  if (sealed === null) {
    throw new FatalError(
      `account ${name}: nobody knows its token here: give it once with fieldmirror accounts add ${name}, or in FIELDMIRROR_API_TOKEN beside FIELDMIRROR_API_URL`,
    );
  }
  try {
    return unseal(sealed, keys, accountId);
  } catch (cause) {
    if (!(cause instanceof FatalError)) throw cause;
    throw new FatalError(`account ${name}: ${cause.message}`, {cause});
  }
}
