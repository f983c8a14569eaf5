// The account that is to be mirrored, by answers or options; tried with its token.

import {placeOf} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {AccessError, FatalError, RecordError, RetryableError, UsageError} from '../core/errors.ts';
import {expectTimeZone, isTimeZone} from '../core/names.ts';
import {Secret} from '../core/secret.ts';
import {findZoneMismatch, guessZones} from './account-zone.ts';
import {checkName} from './accounts-add.ts';
import {askAccount} from './ask-account.ts';
import type {Asker} from './init-asker.ts';
import {readSecret} from './read-secret.ts';

/** An account that answers, and takes the token. */
export interface FoundAccount {
  readonly name: string;
  readonly apiUrl: string;
  readonly token: Secret;
  /** Its first list of customers, as it came. */
  readonly page: string;
}

interface Given {
  readonly name?: string;
  readonly url?: string;
}

/** @throws the errors of `init` */
export async function findAccount(
  asker: Asker | null,
  config: Config,
  given: Given,
): Promise<FoundAccount> {
  let apiUrl = await findAddress(asker, config, given.url);
  let name = await findName(asker, apiUrl, given.name);
  for (;;) {
    const token = await findToken(asker, config, {name, apiUrl});
    try {
      const {body} = await askAccount({
        apiUrl,
        token,
        allowsHttp: config.allowsHttp,
        allowsLinkLocal: config.allowsLinkLocal,
      });
      asker?.tell(`${placeOf(apiUrl)} answers, and takes the token`);
      return {name, apiUrl, token, page: body.toString()};
    } catch (error) {
      if (asker === null || !isTold(error)) throw error;
      asker.tell(error.message);
      // A token that was refused is asked for again; else the address is in question.
      if (error instanceof AccessError) continue;
      const wrong = apiUrl;
      apiUrl = await asker.ask("The account's base address", wrong, checkAddress(config));
      // A name that a wrong address gave is asked for again, too.
      if (apiUrl !== wrong && name === usualName(wrong))
        name = await findName(asker, apiUrl, given.name);
    }
  }
}

/**
 * The account's zone: the given one, or one by which the service writes its moments.
 * @throws {UsageError} a zone that is not the account's, or none that can be told
 */
export async function findZone(
  asker: Asker | null,
  page: string,
  given: string | undefined,
): Promise<string> {
  const take = (zone: string) => {
    if (!isTimeZone(zone))
      throw new UsageError(`init: --time-zone: ${expectTimeZone(zone)}, got "${zone}"`);
    const mismatch = findZoneMismatch(page, zone);
    if (mismatch !== null) throw new UsageError(`init: --time-zone: ${mismatch}`);
    return zone;
  };
  if (given !== undefined) return take(given);
  const guessed = guessZones(page);
  if (asker !== null) return await asker.ask("The account's time zone", guessed[0] ?? null, take);
  if (guessed.length === 1) return guessed[0] ?? '';
  const got = guessed.length === 0 ? 'cannot be told from' : `may be ${guessed.join(' or ')} by`;
  throw new UsageError(
    `init: --time-zone: expected the account's IANA zone, such as America/New_York, got nothing; it ${got} the moments that the service writes`,
  );
}

function checkAddress({allowsHttp}: Config): (address: string) => string {
  return (address) => {
    const isAddress = URL.canParse(address) && /^https?:\/\//.test(address);
    if (!isAddress)
      throw new UsageError(
        `init: --url: expected the account's base address, such as https://app.example.com/acme, got "${address}"`,
      );
    const {protocol, hostname} = new URL(address);
    const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
    if (protocol === 'http:' && !isHere && !allowsHttp)
      throw new UsageError(
        `init: --url: expected https, got ${address}: the token would be sent in the clear; FIELDMIRROR_ALLOW_HTTP=1 allows that`,
      );
    return address;
  };
}

async function findAddress(
  asker: Asker | null,
  config: Config,
  given: string | undefined,
): Promise<string> {
  const take = checkAddress(config);
  const known = given ?? config.apiUrl ?? undefined;
  if (known !== undefined) return take(known);
  if (asker !== null)
    return await asker.ask(
      "The account's base address, such as https://app.example.com/acme",
      null,
      take,
    );
  throw new UsageError(
    "init: --url: expected the account's base address, such as https://app.example.com/acme, got nothing; without a terminal the answers are options: init --url URL [--name NAME] [--time-zone ZONE], the token on standard input",
  );
}

/**
 * The last word of its path is what people call an account: acme, of https://app.example.com/acme.
 */
function usualName(apiUrl: string): string {
  const {hostname, pathname} = new URL(apiUrl);
  return pathname.split('/').findLast((word) => /^[A-Za-z0-9][\w.-]*$/.test(word)) ?? hostname;
}

async function findName(
  asker: Asker | null,
  apiUrl: string,
  given: string | undefined,
): Promise<string> {
  const take = (name: string) => {
    checkName(name, 'init: --name');
    return name;
  };
  if (given !== undefined) return take(given);
  const usual = usualName(apiUrl);
  return asker === null ? take(usual) : await asker.ask('A name for it here', usual, take);
}

/** The environment's token is for the environment's address; it is sent to no other. */
async function findToken(
  asker: Asker | null,
  {token, apiUrl: own}: Config,
  {name, apiUrl}: {readonly name: string; readonly apiUrl: string},
): Promise<Secret> {
  if (asker !== null)
    return await asker.ask(
      `An employee's API token of ${name} (it is not shown)`,
      null,
      (text) => new Secret(text),
      {isHidden: true},
    );
  if (token !== null && (own === null || placeOf(own) === placeOf(apiUrl))) return token;
  return await readSecret(
    '',
    'init: expected the token on standard input or in FIELDMIRROR_API_TOKEN, got nothing',
  );
}

function isTold(error: unknown): error is Error {
  return [FatalError, RetryableError, RecordError, UsageError].some(
    (kind) => error instanceof kind,
  );
}
