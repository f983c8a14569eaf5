// Access to an account at the service: its address, its token, and how a refusal is judged if the
// token was replaced meanwhile. Also moves an account to another address, and checks whether the
// business there is the one in the warehouse. That check compares values that never change while a
// record exists.

import type pg from 'pg';
import {type Client, createClient} from '../api/client.ts';
import type {AccountObserver, RequestObserver} from '../api/send-once.ts';
import {parseTime} from '../api/times.ts';
import {createTransport, type Transport, type TransportOptions} from '../api/transport.ts';
import {isMissingRecord, refuseOtherKind} from '../api/verdict.ts';
import type {FieldRecord} from '../api/xml-document.ts';
import {AccessError, FatalError, RetryableError} from '../core/errors.ts';
import {markToken, type SealingKey, type Secret, unseal} from '../core/secret.ts';
import type {Queryable} from '../postgres/database.ts';
import {type Account, readAccountAccess, type SealedToken} from './accounts.ts';
import type {WorkerReach} from './workers.ts';

/** The means to open any account that this process may open. */
interface AccountsOptions {
  readonly pool: pg.Pool;
  /**
   * Keys that open the tokens sealed in the warehouse; without any, only tokens given separately
   * are known.
   */
  readonly keys: readonly SealingKey[];
  readonly allowHttp: boolean;
  readonly allowLinkLocal?: boolean;
  readonly transport?: Pick<TransportOptions, 'retry' | 'limits' | 'concurrency'>;
  /** Called with every token that is opened, so that a log can be kept clean of it. */
  readonly onToken?: (token: Secret) => void;
}

/** The address and token of an account, given separately from its row. */
export interface EnvironmentAccess {
  readonly apiUrl: string;
  readonly token: Secret;
}

type StoredAccount = Account & {readonly sealed: SealedToken | null};

/** Access given separately, and the token that was sealed at that moment. */
interface SeparateAccess extends EnvironmentAccess {
  readonly sealedBefore: Secret | null;
}

interface OpenAccount {
  /**
   * The address, state and sealed token that the account was opened with. If one of them changes,
   * the account is opened again.
   */
  readonly by: string;
  readonly transport: Transport;
  readonly account: AccountApi;
}

/**
 * Access to the accounts that this process serves. Each is opened when it is first needed, and
 * kept.
 */
export class Accounts {
  readonly #options: AccountsOptions;
  readonly #separateAccess = new Map<string, SeparateAccess>();
  /** Ids of accounts whose token was given separately, but a newer one was sealed since. */
  readonly #superseded = new Set<string>();
  readonly #open = new Map<string, OpenAccount>();
  /** Replaced transports, which sweeps may still use; idle connections close automatically. */
  readonly #replaced: Transport[] = [];
  #observer: AccountObserver | null = null;

  constructor(options: AccountsOptions) {
    this.#options = options;
  }

  /**
   * Adds an access that is not in the warehouse: that of the environment's account, or of the demo.
   * Its address takes precedence over the row's, which another demo on the same warehouse may have
   * changed. Its token takes precedence over the one that is sealed there now, but not over one
   * that is sealed later.
   */
  async give(accountId: string, access: EnvironmentAccess): Promise<void> {
    const account = await this.#read(accountId);
    this.#separateAccess.set(accountId, {...access, sealedBefore: this.#unsealed(account)});
  }

  /** Reports every request from now on to an observer, also for accounts that are open already. */
  observe(observer: AccountObserver): void {
    this.#observer = observer;
  }

  /** The ids by which a query finds the accounts whose tokens are known here. */
  get known(): {readonly accountIds: readonly string[]; readonly keyIds: readonly string[]} {
    return {
      accountIds: [...this.#separateAccess.keys()],
      keyIds: this.#options.keys.map(({id}) => id),
    };
  }

  /** The reach of this process, for the row of its worker. */
  reach(workerId: string): Omit<WorkerReach, 'accountIds' | 'sendsMail'> {
    const [separateEntry] = [...this.#separateAccess].filter(
      ([accountId]) => !this.#superseded.has(accountId),
    );
    return {
      keyIds: this.known.keyIds,
      given:
        separateEntry === undefined
          ? null
          : {accountId: separateEntry[0], tokenMark: markToken(separateEntry[1].token, workerId)},
    };
  }

  /** Why the token of an account is not available here, and the next step; null if it is. */
  async findProblem(accountId: string): Promise<string | null> {
    try {
      this.#chooseToken(await this.#read(accountId));
      return null;
    } catch (error) {
      if (error instanceof FatalError) return error.message;
      throw error;
    }
  }

  /**
   * Opens an account. Every call returns the same access, until the account gets another address,
   * token or state.
   * @throws {FatalError} there is no such account, or its token is not known here
   */
  async open(accountId: string): Promise<AccountApi> {
    const row = await this.#read(accountId);
    const {timeZone} = row;
    const baseUrl = this.#separateAccess.get(accountId)?.apiUrl ?? row.apiUrl;
    const fingerprint = JSON.stringify([
      baseUrl,
      row.stateSince,
      row.sealed?.bytes.toString('base64'),
    ]);
    const openAccount = this.#open.get(accountId);
    if (openAccount?.by === fingerprint) return {...openAccount.account, timeZone};
    const {allowHttp, allowLinkLocal, transport: options} = this.#options;
    const token = this.#chooseToken(row);
    const observer = this.#observerOf(row.name);
    const transport = createTransport({
      ...options,
      baseUrl,
      token,
      allowHttp,
      allowLinkLocal,
      observer,
    });
    if (openAccount !== undefined) this.#replaced.push(openAccount.transport);
    const account = {api: createClient(transport), timeZone, token: this.#watch(row, token)};
    this.#open.set(accountId, {by: fingerprint, transport, account});
    return account;
  }

  /** Aborts the requests in progress, and closes all connections. */
  async close(): Promise<void> {
    const transports = [...this.#open.values()]
      .map(({transport}) => transport)
      .concat(this.#replaced.splice(0));
    this.#open.clear();
    await Promise.all(transports.map((transport) => transport.close()));
  }

  #observerOf(account: string): RequestObserver {
    return {
      ended: (request) => this.#observer?.ended(account, request),
      written: (outcome) => this.#observer?.written(account, outcome),
    };
  }

  async #read(accountId: string): Promise<StoredAccount> {
    const account = await readAccountAccess(this.#options.pool, accountId);
    if (account !== null) return account;
    throw new FatalError(`account ${accountId}: expected it in sync.accounts, got nothing`);
  }

  /** @throws {FatalError} the token is not known here */
  #chooseToken(account: StoredAccount): Secret {
    const {accountId} = account;
    const separateAccess = this.#separateAccess.get(accountId);
    if (separateAccess === undefined) return this.#noted(openToken(account, this.#options.keys));
    const unsealedToken = this.#unsealed(account);
    if (unsealedToken === null || unsealedToken.reveal() === separateAccess.sealedBefore?.reveal())
      return separateAccess.token;
    this.#superseded.add(accountId);
    return this.#noted(unsealedToken);
  }

  #unsealed(account: StoredAccount): Secret | null {
    try {
      return account.sealed === null ? null : this.#noted(openToken(account, this.#options.keys));
    } catch (error) {
      if (error instanceof FatalError) return null;
      throw error;
    }
  }

  #noted(token: Secret): Secret {
    this.#options.onToken?.(token);
    return token;
  }

  #watch({accountId, name}: Account, token: Secret): TokenInUse {
    const isGiven = this.#separateAccess.get(accountId)?.token === token;
    const addStep = `give it a new one with fieldmirror accounts add ${name}`;
    const environmentStep =
      this.#options.keys.length === 0
        ? 'FIELDMIRROR_API_TOKEN has it: restart with the right one'
        : `FIELDMIRROR_API_TOKEN has it: restart with the right one, or ${addStep}`;
    const isReplaced = async () => {
      const isAvailable = (await this.findProblem(accountId)) === null;
      return (
        isAvailable && this.#chooseToken(await this.#read(accountId)).reveal() !== token.reveal()
      );
    };
    return {fix: isGiven ? environmentStep : addStep, isReplaced};
  }
}

/**
 * The token of an account, opened from its seal.
 * @throws {FatalError} there is no seal, or the keys do not open it; the message names the account
 *   and the step
 */
export function openToken(
  {
    accountId,
    name,
    sealed,
  }: Pick<Account, 'accountId' | 'name'> & {readonly sealed: SealedToken | null},
  keys: readonly SealingKey[],
): Secret {
  if (sealed === null) {
    throw new FatalError(
      `account ${name}: its token is unknown here: give it once with fieldmirror accounts ` +
        `add ${name}, or in FIELDMIRROR_API_TOKEN beside FIELDMIRROR_API_URL`,
      {kind: 'key'},
    );
  }
  try {
    return unseal(sealed, keys, accountId);
  } catch (cause) {
    if (!(cause instanceof FatalError)) throw cause;
    throw new FatalError(`account ${name}: ${cause.message}`, {cause});
  }
}

/** Access to one account at the service. */
export interface AccountApi {
  readonly api: Client;
  /** IANA zone in which the account writes times without an offset. */
  readonly timeZone: string;
  /** The token that the account was opened with; left out if it cannot be replaced meanwhile. */
  readonly token?: TokenInUse;
}

/** A token while it is in use. */
interface TokenInUse {
  /**
   * How a person gives the account another token: `give it … with fieldmirror accounts add NAME`.
   */
  readonly fix: string;
  /** Whether the account has got another token since. */
  readonly isReplaced: () => Promise<boolean>;
}

/**
 * Judges the refusal of a token: if the token was replaced while in use, the refusal does not apply
 * to the new one.
 * @returns the error to continue with; unless the token was replaced, it names how the account gets
 *   another one
 */
export async function judgeAccess(error: unknown, {token}: AccountApi): Promise<unknown> {
  if (!(error instanceof AccessError) || token === undefined) return error;
  if (await token.isReplaced())
    return new RetryableError(
      `${error.message}; the account has another token by now, which is tried next`,
      {
        cause: error,
        retryAfterMs: 0,
      },
    );
  return new AccessError(`${error.message}; ${token.fix}`, {cause: error});
}

/** The streams whose records have a number and the moment in which they were created. */
type NumberedStream = 'customers' | 'jobs' | 'employees';

/** The values that a record keeps as long as it exists. */
interface Identity {
  readonly number: string;
  readonly id: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** Live rows of a stream, spread over all of its numbers: the same ones each time. */
async function sampleIdentities(
  db: Queryable,
  accountId: string,
  {stream, most}: {readonly stream: NumberedStream; readonly most: number},
): Promise<readonly Identity[]> {
  const number = `${stream.slice(0, -1)}_number`;
  const {rows} = await db.query<Identity>(
    `SELECT ${number}::text AS number, id::text AS id, created_at AS "createdAt"
       FROM warehouse.${stream}
      WHERE account_id = $1 AND _deleted_at IS NULL AND num_nulls(${number}, id, created_at) = 0
      ORDER BY md5(${number}::text) LIMIT $2`,
    [accountId, most],
  );
  return rows;
}

/** How many changes of an account are still open. */
export async function countOpenChanges(db: Queryable, accountId: string): Promise<number> {
  const {rows} = await db.query<{count: number}>(
    'SELECT count(*)::integer AS count FROM sync.changes WHERE account_id = $1 AND is_open',
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

/**
 * Gives an account another address; workers use it from their next request on.
 * @returns false if its address is no longer the one that was read: then nothing is written
 */
export async function moveAccount(
  db: Queryable,
  {accountId, apiUrl}: Pick<Account, 'accountId' | 'apiUrl'>,
  newUrl: string,
): Promise<boolean> {
  const {rowCount} = await db.query(
    'UPDATE sync.accounts SET api_url = $3 WHERE account_id = $1 AND api_url = $2',
    [accountId, apiUrl, newUrl],
  );
  return rowCount === 1;
}

const streams = ['customers', 'jobs', 'employees'] as const satisfies readonly NumberedStream[];
/**
 * Three dozen requests in total: if so many moments agree to the second, the two businesses are the
 * same.
 */
const sampleSize = 12;
/** A record may have been deleted at the service since the last sweep: up to one in this many. */
const recordsPerDeletion = 10;

/** Rows of a stream, compared with the records of their numbers. */
interface ComparedStream {
  readonly stream: NumberedStream;
  readonly equal: number;
  /** Numbers for which the service has no record. */
  readonly gone: readonly string[];
  /** Sentences about the records that differ. */
  readonly differing: readonly string[];
}

export interface ComparedBusiness {
  readonly streams: readonly ComparedStream[];
  readonly isSame: boolean;
}

/**
 * Compares number, id and moment of creation of a sample of live rows with the service's records.
 * It only reads, on both sides.
 * @throws {RetryableError} also if the service reports that a record of another kind is unknown
 */
export async function compareBusiness(
  db: Queryable,
  api: Client,
  account: Pick<Account, 'accountId' | 'timeZone'>,
): Promise<ComparedBusiness> {
  const comparedStreams: ComparedStream[] = [];
  for (const stream of streams) {
    const rows = await sampleIdentities(db, account.accountId, {stream, most: sampleSize});
    const comparisons = await Promise.all(
      rows.map((row) => compareRecord(api, stream, row, account.timeZone)),
    );
    comparedStreams.push({
      stream,
      equal: comparisons.filter(({verdict}) => verdict === 'equal').length,
      gone: comparisons.flatMap(({verdict, number}) => (verdict === 'gone' ? [number] : [])),
      differing: comparisons.flatMap(({verdict, difference}) =>
        verdict === 'differs' ? [difference] : [],
      ),
    });
  }
  const sumCounts = (count: (stream: ComparedStream) => number) =>
    comparedStreams.reduce((total, stream) => total + count(stream), 0);
  const [equalCount, deletedCount, differingCount] = [
    sumCounts((stream) => stream.equal),
    sumCounts((stream) => stream.gone.length),
    sumCounts((stream) => stream.differing.length),
  ];
  return {
    streams: comparedStreams,
    isSame:
      equalCount > 0 &&
      differingCount === 0 &&
      deletedCount * recordsPerDeletion <= equalCount + deletedCount,
  };
}

interface Comparison {
  readonly number: string;
  readonly verdict: 'equal' | 'gone' | 'differs';
  readonly difference: string;
}

async function compareRecord(
  api: Client,
  stream: NumberedStream,
  {number, id, createdAt}: Identity,
  timeZone: string,
): Promise<Comparison> {
  const record = await api[stream].show(number);
  if (isMissingRecord(record)) {
    const path = `/${stream}/${number}.xml`;
    const thing = `GET ${path} at ${api.transport.place}`;
    refuseOtherKind({thing, path, item: stream.slice(0, -1)}, record);
    return {number, verdict: 'gone', difference: ''};
  }
  const received = {id: readText(record, 'id'), createdAt: readText(record, 'created_at')};
  const isSame = received.id === id && isSameTime(createdAt, received.createdAt, timeZone);
  const difference =
    `${stream} ${number}: expected id ${id}, created ${createdAt}, ` +
    `got id ${received.id}, created ${received.createdAt}`;
  return {number, verdict: isSame ? 'equal' : 'differs', difference};
}

function isSameTime(storedTime: string, receivedTime: string, timeZone: string): boolean {
  const parsed = receivedTime === '' ? null : parseTime(receivedTime, timeZone);
  return parsed !== null && Date.parse(parsed.instant) === Date.parse(storedTime);
}

function readText({names, values}: FieldRecord, name: string): string {
  const value = values[names.indexOf(name)];
  return typeof value === 'string' ? value : '';
}
