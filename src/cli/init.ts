// The verb `init`: it tries an account and a warehouse before it stores anything of them. The token
// is stored in a file that only its owner can read. It is never an argument, and never printed.

import {existsSync} from 'node:fs';
import {listAccounts, toServiceAddress, upsertAccount} from '../accounts/accounts.ts';
import {listSealingKeys} from '../accounts/seals.ts';
import type {Config} from '../core/config.ts';
import {AccessError, FatalError, RecordError, RetryableError, UsageError} from '../core/errors.ts';
import {demoName, expectTimeZone, isTimeZone} from '../core/names.ts';
import {makeKey, parseKeys, type SealingKey, Secret} from '../core/secret.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {hasEmbedded} from '../postgres/embedded.ts';
import {allStreams} from '../streams/all.ts';
import {beginAccount} from '../sweeps/schedules.ts';
import {checkName, findSetToken} from './accounts-add.ts';
import {findZoneMismatch, guessZones, requestAccount} from './accounts-check.ts';
import {writeActiveSettings} from './config-file.ts';
import {readContents} from './postgres.ts';
import {stopSignal} from './stop.ts';
import {callOf, Prompter, print, readSecret, wrap} from './terminal.ts';
import {envFileOf, expectFile, readEnvFile, settingsFile, writeEnvFile} from './verb.ts';
import {withWarehouse} from './warehouse.ts';

interface InitOptions {
  readonly name?: string;
  readonly url?: string;
  readonly timeZone?: string;
  /** Uses the embedded Postgres, without a question about another one. */
  readonly embedded: boolean;
  /** Whether existing files may be changed without a question. */
  readonly force: boolean;
  readonly json: boolean;
}

/**
 * Prompts for an account and a warehouse, tries both, and stores them in `.env`, `fieldmirror.yaml`
 * and a row of the warehouse. Without a terminal, the options are the answers, and the token is
 * read from standard input.
 * @throws {UsageError} an invalid answer, or existing files
 * @throws {AccessError | RetryableError | FatalError} the service or the warehouse refuses access:
 *   nothing is stored
 */
export async function init(config: Config, options: InitOptions): Promise<number> {
  const asker = process.stdin.isTTY ? new Prompter() : null;
  try {
    const envFile = envFileOf(process.env);
    await refuseFiles(asker, envFile, options.force);
    await refuseMadeUpHome(config, options.embedded);
    const foundAccount = await findAccount(asker, config, options);
    const timeZone = await findZone(asker, foundAccount.page, options.timeZone);
    const account = {...foundAccount, timeZone};
    const saved = await saveAccount(
      asker,
      {...config, settings: []},
      {account, embedded: options.embedded},
    );
    stopSignal.throwIfAborted();
    const key = chooseKey(config.keys, saved.sealedWith);
    writeEnvFile(envFile, {
      FIELDMIRROR_API_URL: account.apiUrl,
      FIELDMIRROR_API_TOKEN: account.token.reveal(),
      FIELDMIRROR_TIME_ZONE: timeZone,
      DATABASE_URL: saved.databaseUrl,
      DATABASE_DIRECT_URL: saved.directUrl,
      ...(config.allowsHttp ? {FIELDMIRROR_ALLOW_HTTP: '1'} : {}),
      ...(config.allowsLinkLocal ? {FIELDMIRROR_ALLOW_LINK_LOCAL: '1'} : {}),
      ...(key.newKey === null ? {} : {FIELDMIRROR_KEY: key.newKey.reveal()}),
    });
    const {name, apiUrl} = account;
    // The embedded Postgres has another port each time.
    const place = saved.place.replace(/, port \d+$/, '');
    print(options.json, {
      json: {
        account: {name, apiUrl, timeZone},
        place,
        files: [envFile, settingsFile],
        key: {id: key.id, isNew: key.newKey !== null, missing: key.missing},
      },
      text: describeResult({name, apiUrl, timeZone, place, envFile, key}),
    });
    return 0;
  } finally {
    asker?.close();
  }
}

async function refuseFiles(asker: Prompter | null, envFile: string, force: boolean): Promise<void> {
  expectFile(envFile);
  const hasSettings = Object.keys(readEnvFile(process.env, {isAnew: true})).length > 0;
  const existingFiles = [
    ...(hasSettings ? [envFile] : []),
    ...(existsSync(settingsFile) ? [settingsFile] : []),
  ];
  if (existingFiles.length === 0 || force) return;
  const names = existingFiles.join(' and ');
  const effect =
    `in ${envFile} the account and the warehouse are replaced, other lines stay; ` +
    `${settingsFile} is rewritten`;
  if (asker === null)
    throw new UsageError(
      `init: expected no settings yet, got ${names}; with --force ${effect}. Nothing was done`,
    );
  const question = `There are settings already, in ${names}: ${effect}. Continue, yes or no`;
  const isConfirmed = await asker.ask(question, 'no', (answer) => /^y(es)?$/i.test(answer));
  if (!isConfirmed) throw new UsageError('init: nothing was done');
}

function describeResult(result: {
  readonly name: string;
  readonly apiUrl: string;
  readonly timeZone: string;
  readonly place: string;
  readonly envFile: string;
  readonly key: KeyChoice;
}): string {
  const call = (verb: string) => callOf(verb);
  return [
    `account ${result.name} (${result.apiUrl}, ${result.timeZone}) answers, ` +
      `and the warehouse is ready: ${result.place}`,
    '',
    `  ${result.envFile}  has the token and the addresses, for you alone: ` +
      'keep it out of repositories',
    `  ${settingsFile}  has the other settings: change it, then ${call('config apply')}`,
    '',
    ...describeKey(result.key, result.envFile),
    '',
    'What next:',
    `  ${call('start')}  # mirrors the account, stays, and prints a link to the console`,
  ].join('\n');
}

// The sealing key of an installation. It is created during the setup, so that a second account, an
// alert or a subscriber needs no further step.

/** The key that seals from now on. */
interface KeyChoice {
  /** The fingerprint of the key; null if there is none yet. */
  readonly id: string | null;
  /** The text of a key that was created; null if none was. */
  readonly newKey: Secret | null;
  /** The keys that the warehouse needs, and that are not given. */
  readonly missing: readonly string[];
}

/**
 * Keeps the key that is given, or creates one. If the warehouse has seals of another key, none is
 * created: a person has that key somewhere, and a second one would hide that it is missing.
 * @param sealedWith - the keys of the warehouse, by their fingerprints
 */
function chooseKey(givenKeys: readonly SealingKey[], sealedWith: readonly string[]): KeyChoice {
  const missing = sealedWith.filter((id) => !givenKeys.some((key) => key.id === id));
  const [first] = givenKeys;
  if (first !== undefined || missing.length > 0)
    return {id: first?.id ?? null, newKey: null, missing};
  const newKey = makeKey();
  return {id: parseKeys(newKey.reveal())[0]?.id ?? null, newKey, missing};
}

function describeKey({id, newKey, missing}: KeyChoice, envFile: string): string[] {
  if (missing.length > 0) {
    const expected = `key ${missing.join(' and key ')}`;
    return [
      wrap(
        `The warehouse has what is sealed with ${expected}, and the key is not given here: ` +
          `put it into ${envFile} as FIELDMIRROR_KEY. No new key was made.`,
        0,
      ),
    ];
  }
  if (newKey === null)
    return [
      `The sealing key is the one that was given: key ${id ?? ''}. FIELDMIRROR_KEY stays as it is.`,
    ];
  return [
    `  FIELDMIRROR_KEY in ${envFile} is a new sealing key, key ${id ?? ''}:`,
    '  it seals tokens of further accounts, and addresses of alerts and of subscribers.',
    '  Keep a copy apart from the dumps of the database. If it is lost, these must be entered ' +
      'again; nothing else is lost.',
  ];
}

// The account that is to be mirrored, from answers or options; it is tried with its token.

/** An account that answers, and accepts the token. */
interface FoundAccount {
  readonly name: string;
  readonly apiUrl: string;
  readonly token: Secret;
  /** Its first list of customers, as received. */
  readonly page: string;
}

interface TypedOptions {
  readonly name?: string;
  readonly url?: string;
}

/** @throws the errors of `init` */
async function findAccount(
  asker: Prompter | null,
  config: Config,
  options: TypedOptions,
): Promise<FoundAccount> {
  let apiUrl = await findAddress(asker, config, options.url);
  let name = await findName(asker, apiUrl, options.name);
  for (;;) {
    const token = await findToken(asker, config, {name, apiUrl});
    try {
      const {body} = await requestAccount({
        apiUrl,
        token,
        allowsHttp: config.allowsHttp,
        allowsLinkLocal: config.allowsLinkLocal,
      });
      asker?.tell(`${toServiceAddress(apiUrl)} answers, and takes the token`);
      return {name, apiUrl, token, page: body.toString()};
    } catch (error) {
      if (asker === null || !isReportable(error)) throw error;
      asker.tell(error.message);
      // If the token was refused, only the token is requested again; otherwise the address is, too.
      if (error instanceof AccessError) continue;
      const wrongUrl = apiUrl;
      apiUrl = await asker.ask("The account's base address", wrongUrl, checkAddress(config));
      // If the name was derived from the wrong address, it is requested again, too.
      if (apiUrl !== wrongUrl && name === usualName(wrongUrl))
        name = await findName(asker, apiUrl, options.name);
    }
  }
}

/**
 * The account's zone: the given one, or one that fits the moments that the service writes.
 * @throws {UsageError} a zone that is not the account's, or no zone can be derived
 */
async function findZone(
  asker: Prompter | null,
  page: string,
  typedZone: string | undefined,
): Promise<string> {
  const checkZone = (zone: string) => {
    if (!isTimeZone(zone))
      throw new UsageError(`init: --time-zone: ${expectTimeZone(zone)}, got "${zone}"`);
    const mismatch = findZoneMismatch(page, zone);
    if (mismatch !== null) throw new UsageError(`init: --time-zone: ${mismatch}`);
    return zone;
  };
  if (typedZone !== undefined) return checkZone(typedZone);
  const guessedZones = guessZones(page);
  if (asker !== null)
    return await asker.ask("The account's time zone", guessedZones[0] ?? null, checkZone);
  if (guessedZones.length === 1) return guessedZones[0] ?? '';
  const got =
    guessedZones.length === 0 ? 'is not clear from' : `may be ${guessedZones.join(' or ')} by`;
  throw new UsageError(
    "init: --time-zone: expected the account's IANA zone, such as America/New_York, " +
      `got nothing; it ${got} the times that the service writes`,
  );
}

function checkAddress({allowsHttp}: Config): (address: string) => string {
  return (address) => {
    const isAddress = URL.canParse(address) && /^https?:\/\//.test(address);
    if (!isAddress)
      throw new UsageError(
        "init: --url: expected the account's base address, " +
          `such as https://app.example.com/acme, got "${address}"`,
      );
    const {protocol, hostname} = new URL(address);
    const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
    if (protocol === 'http:' && !isHere && !allowsHttp)
      throw new UsageError(
        `init: --url: expected https, got ${address}: the token would be sent in the clear; ` +
          'FIELDMIRROR_ALLOW_HTTP=1 allows that',
      );
    return address;
  };
}

async function findAddress(
  asker: Prompter | null,
  config: Config,
  typedUrl: string | undefined,
): Promise<string> {
  const checkTyped = checkAddress(config);
  const knownUrl = typedUrl ?? config.apiUrl ?? undefined;
  if (knownUrl !== undefined) return checkTyped(knownUrl);
  if (asker !== null)
    return await asker.ask(
      "The account's base address, such as https://app.example.com/acme",
      null,
      checkTyped,
    );
  throw new UsageError(
    "init: --url: expected the account's base address, such as https://app.example.com/acme, " +
      'got nothing; without a terminal the answers are options: ' +
      'init --url URL [--name NAME] [--time-zone ZONE], the token on standard input',
  );
}

/**
 * The usual name of an account is the last word of its path: acme, of https://app.example.com/acme.
 */
function usualName(apiUrl: string): string {
  const {hostname, pathname} = new URL(apiUrl);
  return pathname.split('/').findLast((word) => /^[A-Za-z0-9][\w.-]*$/.test(word)) ?? hostname;
}

async function findName(
  asker: Prompter | null,
  apiUrl: string,
  typedName: string | undefined,
): Promise<string> {
  const checkTyped = (name: string) => {
    checkName(name, 'init: --name');
    return name;
  };
  if (typedName !== undefined) return checkTyped(typedName);
  const suggestedName = usualName(apiUrl);
  return asker === null
    ? checkTyped(suggestedName)
    : await asker.ask('A name for it here', suggestedName, checkTyped);
}

/** Without a terminal: that of standard input, else the environment's for its own address. */
async function findToken(
  asker: Prompter | null,
  config: Config,
  {name, apiUrl}: {readonly name: string; readonly apiUrl: string},
): Promise<Secret> {
  if (asker !== null)
    return await asker.ask(
      `An employee's API token of ${name} (it is not shown)`,
      null,
      (text) => new Secret(text),
      {isHidden: true},
    );
  return await readSecret(
    '',
    'init: expected the token on standard input or in FIELDMIRROR_API_TOKEN, got nothing',
    {fallback: findSetToken(config, apiUrl)},
  );
}

function isReportable(error: unknown): error is Error {
  return [FatalError, RetryableError, RecordError, UsageError].some(
    (kind) => error instanceof kind,
  );
}

// The warehouse of an account that answers: it is tried and migrated, and the account is stored in
// it.

/** The warehouse of the account. */
interface SavedWarehouse {
  /** Null means the embedded Postgres. */
  readonly databaseUrl: string | null;
  readonly directUrl: string | null;
  readonly place: string;
  /** The fingerprints of the keys with which something in the warehouse is sealed already. */
  readonly sealedWith: readonly string[];
}

type Account = FoundAccount & {readonly timeZone: string};

/** @throws the errors of `init` */
async function saveAccount(
  asker: Prompter | null,
  config: Config,
  {account, embedded}: {readonly account: Account; readonly embedded: boolean},
): Promise<SavedWarehouse> {
  const {directUrl} = config;
  if (embedded || config.databaseUrl !== null || asker === null) {
    const databaseUrl = embedded ? null : config.databaseUrl;
    return await saveInWarehouse(
      {...config, databaseUrl, directUrl: embedded ? null : directUrl},
      account,
    );
  }
  const question =
    'The warehouse: postgres://user:password@host/database (it is not shown), ' +
    `or nothing for a separate Postgres in ${config.home}`;
  const trySave = async (answer: string) => {
    const databaseUrl = answer === '' ? null : checkDatabase(answer);
    try {
      return await saveInWarehouse({...config, databaseUrl, directUrl: null}, account);
    } catch (error) {
      const mayBeFixed = error instanceof FatalError || error instanceof RetryableError;
      // The embedded Postgres has no other address that could be typed.
      if (databaseUrl === null || !mayBeFixed) throw error;
      throw new UsageError(error.message, {cause: error});
    }
  };
  return await asker.ask(question, '', trySave, {isHidden: true});
}

function checkDatabase(address: string): string {
  if (URL.canParse(address) && /^postgres(ql)?:\/\//.test(address)) return address;
  throw new UsageError(
    'init: expected an address that begins with postgres://, got something else',
  );
}

async function saveInWarehouse(config: Config, account: Account): Promise<SavedWarehouse> {
  const {apiUrl, timeZone, name} = account;
  return await withWarehouse(config, {migrates: true, signal: stopSignal}, async (warehouse) => {
    const {pool, place} = warehouse;
    await refuseOthers(pool, account);
    await inTransaction(pool, async (client) => {
      const storedAccount = await upsertAccount(client, {name, apiUrl, timeZone});
      await beginAccount(
        client,
        storedAccount,
        allStreams.map((stream) => stream.name),
      );
    });
    await writeActiveSettings(pool, settingsFile);
    const sealedWith = await listSealingKeys(pool);
    return {databaseUrl: config.databaseUrl, directUrl: config.directUrl, place, sealedWith};
  });
}

/**
 * @throws {FatalError} the warehouse has the made-up business, or this account under another name
 */
async function refuseOthers(db: Queryable, {name, apiUrl}: Account): Promise<void> {
  const storedAccounts = await listAccounts(db);
  refuseMadeUp(storedAccounts.map((each) => each.name));
  const duplicate = storedAccounts.find(
    (each) => toServiceAddress(each.apiUrl) === toServiceAddress(apiUrl) && each.name !== name,
  );
  if (duplicate !== undefined)
    throw new FatalError(
      `init: ${toServiceAddress(apiUrl)} is mirrored there already, as account ` +
        `${duplicate.name}; ` +
        `give --name ${duplicate.name}`,
    );
}

/** @throws {FatalError} the made-up business is one of these accounts */
function refuseMadeUp(names: readonly string[]): void {
  if (!names.includes(demoName)) return;
  throw new FatalError(
    'init: expected a warehouse without the made-up business, which would stay beside yours, ' +
      'got one with it; fieldmirror reset removes it; or set FIELDMIRROR_HOME to another folder, ' +
      'or DATABASE_URL to your own Postgres',
  );
}

/**
 * Checks the embedded Postgres, if it is going to be the warehouse, before a person answers all
 * questions in vain.
 * @throws {FatalError} it has the made-up business
 */
async function refuseMadeUpHome(config: Config, embedded: boolean): Promise<void> {
  if ((config.databaseUrl !== null && !embedded) || !hasEmbedded(config.home)) return;
  const embeddedConfig = {...config, databaseUrl: null, directUrl: null};
  const {accounts} = await withWarehouse(
    embeddedConfig,
    {migrates: false},
    async ({pool}) => await readContents(pool),
  );
  refuseMadeUp(accounts);
}
