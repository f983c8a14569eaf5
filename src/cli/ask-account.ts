import type {Client, RawPage} from '../api/client.ts';
import {createClient} from '../api/client.ts';
import {createTransport} from '../api/transport.ts';
import {readList} from '../api/xml-read.ts';
import {AccessError, FatalError, RecordError, RetryableError, UsageError} from '../core/errors.ts';
import type {Secret} from '../core/secret.ts';
import {findZoneMismatch} from './account-zone.ts';

/** The address and token of an account to ask. */
export interface AccountAddress {
  readonly apiUrl: string;
  readonly token: Secret;
  readonly allowsHttp: boolean;
  readonly allowsLinkLocal?: boolean;
  /**
   * Whether the account was mirrored from there before: then a web page in its place, or no such
   * host, may pass.
   */
  readonly isProven?: boolean;
}

/**
 * The flaw of an account, and the next step. `refused`: its token; `address`: the address itself;
 * `unreachable`: the service; `zone`: not the account's own; `other token`: not that of the worker
 * that serves it.
 */
export interface AccountFinding {
  readonly verdict:
    | 'good'
    | 'refused'
    | 'address'
    | 'unreachable'
    | 'zone'
    | 'token unknown'
    | 'other token';
  readonly found: string;
}

const lightList = '/customers.xml';
const timeoutMs = 20_000;
const attempts = 2;

/**
 * Asks an account one light question, so that a wrong token or address is told before anything
 * begins.
 * @throws {AccessError} the token is refused
 * @throws {RetryableError | FatalError | UsageError} the service cannot be reached, or is not at
 *   that address
 */
export async function askAccount({
  apiUrl,
  token,
  allowsHttp,
  allowsLinkLocal,
  isProven = false,
}: AccountAddress): Promise<RawPage> {
  const transport = createTransport({
    baseUrl: apiUrl,
    token,
    allowHttp: allowsHttp,
    allowLinkLocal: allowsLinkLocal,
    isProven,
    limits: {timeoutMs},
    retry: {attempts},
  });
  try {
    const page = await askLightly(createClient(transport));
    if (!isProven) refuseOther(page, transport.place);
    return page;
  } finally {
    await transport.close();
  }
}

/** The same, with the flaw as a value; a zone that is not the account's own is a flaw, too. */
export async function examineAccount(
  address: AccountAddress & {readonly timeZone: string; readonly name: string},
): Promise<AccountFinding> {
  try {
    const {ms, body} = await askAccount({isProven: true, ...address});
    const mismatch = findZoneMismatch(body.toString(), address.timeZone);
    if (mismatch !== null) {
      const mend = `fieldmirror accounts add ${address.name} --time-zone ZONE`;
      return {verdict: 'zone', found: `its time zone: ${mismatch}; ${mend}`};
    }
    return {verdict: 'good', found: `answers, and takes the token (${Math.round(ms)} ms)`};
  } catch (error) {
    if (error instanceof AccessError) return {verdict: 'refused', found: error.message};
    if (error instanceof RetryableError) return {verdict: 'unreachable', found: error.message};
    const isTold =
      error instanceof FatalError || error instanceof RecordError || error instanceof UsageError;
    if (isTold) return {verdict: 'address', found: error.message};
    throw error;
  }
}

/** @throws {FatalError} what came is not the list that was asked for */
function refuseOther({body, contentType}: RawPage, place: string): void {
  const thing = `GET ${lightList} at ${place}`;
  try {
    readList(body, {list: 'customers', item: 'customer'}, {thing, contentType});
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
    const check = "check the base address: the API's host, and the path of the account";
    throw new FatalError(`${error.message}; ${check}`, {cause: error, kind: 'address'});
  }
}

async function askLightly(api: Client): Promise<RawPage> {
  return await api.fetchPage(lightList, {only: 'customer_number,created_at', page: '1'});
}
