// A bucket of S3-compatible storage as a target. Objects appear one by one there, so only a
// snapshot with its manifest counts: the manifest is written last, and removed first.
// Requests have a signature, version 4: a keyed hash of method, path, query, headers and body. By
// it the storage recognises the sender, and checks that nothing was altered.
// @see https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html

import {createHash, createHmac} from 'node:crypto';
import {createReadStream} from 'node:fs';
import {lstat, mkdtemp, readdir, rm} from 'node:fs/promises';
import type {LookupFunction} from 'node:net';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Readable} from 'node:stream';
import {isLoopback, onlyThisMachine} from '../api/addresses.ts';
import {createAgents, ExchangeError, exchange} from '../api/exchange.ts';
import {describeFailure} from '../api/verdict.ts';
import type {StorageKeys} from '../core/config.ts';
import {FatalError, RetryableError, UsageError} from '../core/errors.ts';
import {formatDuration} from '../core/format.ts';
import {DEFAULT_RETRY, parseRetryAfter, retry} from '../core/pauses.ts';
import {
  type DeliveryCourse,
  isSnapshotName,
  manifestFile,
  measure,
  type Snapshot,
  type SnapshotFile,
} from './snapshot.ts';
import {
  defaultRegion,
  describeLatest,
  latestFile,
  parseBucket,
  parseLatest,
  type Store,
} from './store.ts';
import type {TargetSetting} from './targets.ts';

interface UnsignedRequest {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  readonly url: URL;
  /** SHA-256 of the body, in hex. */
  readonly bodySha256: string;
  readonly region: string;
  readonly at: Date;
  /** Further headers that are signed, by names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
}

const algorithm = 'AWS4-HMAC-SHA256';

/** The SHA-256 of an empty body. */
export const emptySha256 = createHash('sha256').digest('hex');

/** @returns all headers of the request, its signature among them */
export function signRequest(
  {method, url, bodySha256, region, at, headers = {}}: UnsignedRequest,
  {accessKeyId, secretAccessKey, sessionToken}: StorageKeys,
): Readonly<Record<string, string>> {
  const time = at.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const signedHeaders: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': bodySha256,
    'x-amz-date': time,
    ...(sessionToken === null ? {} : {'x-amz-security-token': sessionToken.reveal()}),
  };
  const names = Object.keys(signedHeaders).toSorted();
  const canonicalRequest = [
    ...[method, encodePath(url.pathname), encodeQuery(url.searchParams)],
    ...names.map((name) => `${name}:${signedHeaders[name]?.trim()}`),
    ...['', names.join(';'), bodySha256],
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const hash = createHash('sha256').update(canonicalRequest).digest('hex');
  const key = [day, region, 's3', 'aws4_request'].reduce(
    (previousKey: string | Buffer, part) => createHmac('sha256', previousKey).update(part).digest(),
    `AWS4${secretAccessKey.reveal()}`,
  );
  const signature = createHmac('sha256', key)
    .update([algorithm, time, scope, hash].join('\n'))
    .digest('hex');
  const authorizationFields = {
    Credential: `${accessKeyId}/${scope}`,
    SignedHeaders: names.join(';'),
    Signature: signature,
  };
  const authorizationParts = Object.entries(authorizationFields).map((field) => field.join('='));
  return {...signedHeaders, authorization: `${algorithm} ${authorizationParts.join(',')}`};
}

/** The query sorted by names, with more escapes than a browser makes. */
function encodeQuery(query: URLSearchParams): string {
  return [...query]
    .map(([name, value]) => `${encodeText(name)}=${encodeText(value)}`)
    .toSorted()
    .join('&');
}

/** A path with more escapes than a URL needs, such as that of `=`. */
function encodePath(path: string): string {
  return path.split('/').map(decodeURIComponent).map(encodeText).join('/');
}

/** A text of a path or a query, escaped as the signature needs it. */
function encodeText(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** The keys and the rules for connections to storage. */
export interface StorageAccess {
  /** Null if none were given. */
  readonly storageKeys: StorageKeys | null;
  readonly allowsHttp: boolean;
  readonly allowsLinkLocal: boolean;
  /** Resolves host names, in place of the system. */
  readonly lookup?: LookupFunction;
}

interface StorageResponse {
  readonly status: number;
  readonly text: string;
}

interface StorageResponseFacts extends StorageResponse {
  readonly retryAfter: string | undefined;
  /**
   * How far our clock is ahead of that of the storage; not a number if the storage sent no time.
   */
  readonly aheadMs: number;
}

/** A body and its source: each try reads it again. */
interface Body {
  readonly bytes: number;
  readonly sha256: string;
  readonly open: () => Readable | string;
}

/** A file of a large business takes minutes on a slow line. */
const limits = {timeoutMs: 900_000, maxBodyBytes: 10_000_000, maxHeaders: 200};

/** A page of a list has up to a thousand names, and a snapshot has some dozens of files. */
const maxListPages = 1000;

export class BucketStore implements Store {
  readonly #place: string;
  readonly #bucket: string;
  readonly #prefix: string;
  readonly #endpoint: URL;
  readonly #region: string;
  readonly #keys: StorageKeys;
  readonly #agents: ReturnType<typeof createAgents>;
  readonly #signal: AbortSignal;
  /** How the names of its folders of this machine begin: each has a random end. */
  readonly #folderPrefix: string;

  /**
   * @param signal - ends requests
   * @throws {UsageError} there are no keys, or plain http to another machine is not allowed
   */
  constructor(
    {place, endpoint, region}: TargetSetting,
    access: StorageAccess,
    signal: AbortSignal,
  ) {
    this.#signal = signal;
    const {bucket, prefix} = parseBucket(place) ?? {bucket: '', prefix: ''};
    this.#place = place;
    this.#bucket = bucket;
    this.#prefix = prefix;
    this.#region = region ?? defaultRegion;
    this.#endpoint = new URL(endpoint ?? `https://s3.${this.#region}.amazonaws.com`);
    this.#keys = findKeys(place, access);
    this.#agents = openAgents(this.#endpoint, place, access);
    const folderHash = createHash('sha256').update(`${this.#endpoint} ${place}`).digest('hex');
    this.#folderPrefix = `fieldmirror-delivery-${folderHash.slice(0, 16)}`;
  }

  async begin(): Promise<string> {
    const filesBySnapshot = await this.#listObjects();
    for (const [name, files] of filesBySnapshot)
      if (!files.includes(manifestFile)) await this.#removeFiles(name, files);
    await this.#discard();
    return await mkdtemp(join(tmpdir(), `${this.#folderPrefix}-`));
  }

  async publish(
    folder: string,
    {name, files, manifest}: Snapshot,
    onStep: DeliveryCourse['onStep'],
  ): Promise<void> {
    for (const file of [...files, manifest]) {
      onStep(`sending ${file.file}`);
      await this.#put(`${name}/${file.file}`, makeFileBody(folder, file));
    }
  }

  async pointTo(snapshot: Snapshot): Promise<void> {
    await this.#put(latestFile, makeTextBody(describeLatest(snapshot)));
  }

  async readLatest(): Promise<string | null> {
    const {status, text} = await this.#send('GET', latestFile, {mayMiss: true});
    return status === 404 ? null : parseLatest(text);
  }

  async list(): Promise<readonly string[]> {
    const filesBySnapshot = await this.#listObjects();
    return [...filesBySnapshot]
      .flatMap(([name, files]) => (files.includes(manifestFile) ? [name] : []))
      .toSorted();
  }

  async remove(name: string): Promise<void> {
    await this.#removeFiles(name, (await this.#listObjects()).get(name) ?? []);
  }

  async end(): Promise<void> {
    await this.#discard();
    await Promise.all([this.#agents.reads.destroy(), this.#agents.writes.destroy()]);
  }

  /**
   * Removes the folders of earlier deliveries, too. Every user of the machine may create one of
   * such a name: those of others are left alone.
   */
  async #discard(): Promise<void> {
    for (const name of await readdir(tmpdir())) {
      if (!name.startsWith(this.#folderPrefix)) continue;
      const folder = join(tmpdir(), name);
      const owner = (await lstat(folder).catch(() => null))?.uid;
      if (owner === process.getuid?.()) await rm(folder, {recursive: true, force: true});
    }
  }

  async #removeFiles(name: string, files: readonly string[]): Promise<void> {
    const manifestFirst = files.toSorted((first, second) =>
      first === manifestFile ? -1 : second === manifestFile ? 1 : 0,
    );
    for (const file of manifestFirst) await this.#send('DELETE', `${name}/${file}`);
  }

  /** The files of each snapshot, by its name; incomplete snapshots are included. */
  async #listObjects(): Promise<Map<string, string[]>> {
    const {XMLParser} = await import('fast-xml-parser');
    const isArray = (tag: string) => tag === 'Contents';
    const parser = new XMLParser({parseTagValue: false, isArray});
    const filesBySnapshot = new Map<string, string[]>();
    let token: string | undefined = '';
    for (let pages = 1; token !== undefined; pages++) {
      if (pages > maxListPages) throw this.#tooLong(pages);
      const {text} = await this.#send('GET', '', {
        query: {
          'list-type': '2',
          prefix: this.#prefix,
          ...(token === '' ? {} : {'continuation-token': token}),
        },
      });
      const {ListBucketResult: page = {}} = parser.parse(text) as ListResponse;
      for (const {Key: key} of page.Contents ?? []) this.#note(filesBySnapshot, key);
      token = page.IsTruncated === 'true' ? page.NextContinuationToken : undefined;
    }
    return filesBySnapshot;
  }

  #tooLong(pages: number): FatalError {
    return new FatalError(
      `${this.#name}: expected a list of at most ${maxListPages} pages, got page ${pages}; ` +
        'deliver to a prefix that holds nothing else',
    );
  }

  #note(filesBySnapshot: Map<string, string[]>, key: string): void {
    const [name = '', file, ...subfolders] = key.slice(this.#prefix.length).split('/');
    if (!key.startsWith(this.#prefix) || !isSnapshotName(name)) return;
    if (file === undefined || subfolders.length > 0) return;
    filesBySnapshot.set(name, [...(filesBySnapshot.get(name) ?? []), file]);
  }

  async #put(key: string, body: Body): Promise<void> {
    await this.#send('PUT', key, {body});
  }

  /**
   * Sends a request, and repeats it while the storage is busy.
   * @param key - below the prefix; '' for the bucket
   */
  async #send(
    method: 'GET' | 'PUT' | 'DELETE',
    key: string,
    options: {
      readonly query?: Readonly<Record<string, string>>;
      readonly body?: Body;
      readonly mayMiss?: boolean;
    } = {},
  ): Promise<StorageResponse> {
    const {query, mayMiss = false} = options;
    const path = key === '' ? '' : `/${this.#prefix}${key}`;
    const url = new URL(this.#endpoint);
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${this.#bucket}${path}`;
    url.search = new URLSearchParams(query).toString().replaceAll('+', '%20');
    return await retry(
      async () => {
        const response = await this.#try(method, url, options);
        if (response.status >= 200 && response.status < 300) return response;
        if (mayMiss && response.status === 404 && readCode(response) === 'NoSuchKey')
          return response;
        throw this.#refusal(`${method} ${key === '' ? 'of its list' : key}`, response);
      },
      DEFAULT_RETRY,
      this.#signal,
    );
  }

  async #try(
    method: 'GET' | 'PUT' | 'DELETE',
    url: URL,
    {body}: {readonly body?: Body},
  ): Promise<StorageResponseFacts> {
    const bodySha256 = body?.sha256 ?? emptySha256;
    const headers = {
      ...signRequest({method, url, bodySha256, region: this.#region, at: new Date()}, this.#keys),
      'user-agent': 'fieldmirror',
      ...(body === undefined ? {} : {'content-length': String(body.bytes)}),
    };
    const request = {
      origin: url.origin,
      path: `${url.pathname}${url.search}`,
      method,
      headers,
      body: body?.open() ?? null,
    };
    try {
      const response = await exchange(this.#agents.reads, request, {
        ...limits,
        signal: this.#signal,
      });
      const readHeader = (name: string) => {
        const value = response.headers[name];
        return typeof value === 'string' ? value : undefined;
      };
      return {
        status: response.status,
        text: response.body.toString(),
        retryAfter: readHeader('retry-after'),
        aheadMs: Date.now() - Date.parse(readHeader('date') ?? ''),
      };
    } catch (error) {
      this.#signal.throwIfAborted();
      if (!(error instanceof ExchangeError)) throw error;
      throw new RetryableError(
        `${this.#name}: expected an answer to ${method}, got ${describeFailure(error)}`,
      );
    }
  }

  get #name(): string {
    return `${this.#place} at ${this.#endpoint.host}`;
  }

  /**
   * The error of a refused request. It names the status and the code, never the text of the
   * storage, which repeats the request.
   */
  #refusal(action: string, response: StorageResponseFacts): Error {
    const code = readCode(response);
    const got = code === null ? String(response.status) : `${response.status} ${code}`;
    const advice =
      adviseOnClock(response) ??
      nextSteps[code ?? ''] ??
      nextSteps[response.status] ??
      'see its documents';
    const message = `${this.#name}: expected an answer of 2xx to ${action}, got ${got}; ${advice}`;
    const isTransient =
      response.status >= 500 || response.status === 429 || response.status === 408;
    const retryAfterMs = parseRetryAfter(response.retryAfter, Date.now());
    return isTransient && response.status !== 507
      ? new RetryableError(message, {retryAfterMs})
      : new FatalError(message);
  }
}

interface ListResponse {
  readonly ListBucketResult?: {
    readonly Contents?: readonly {readonly Key: string}[];
    readonly IsTruncated?: string;
    readonly NextContinuationToken?: string;
  };
}

const checkKeys = 'check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY of this process';
const setClock = 'set the clock of this machine by NTP';
const nextSteps: Readonly<Record<string, string>> = {
  NoSuchBucket: 'make the bucket, or name another one in the settings',
  InvalidAccessKeyId: checkKeys,
  SignatureDoesNotMatch: checkKeys,
  ExpiredToken: `the keys have expired: ${checkKeys}`,
  InvalidToken: checkKeys,
  AuthorizationHeaderMalformed: 'name the region of the bucket in the settings',
  PermanentRedirect: 'name the region of the bucket in the settings',
  RequestTimeTooSkewed: setClock,
  403: 'let these keys list, read, write and remove there',
  429: 'it is tried again later',
  500: 'it is tried again later',
  503: 'it is tried again later',
  507: 'make room there, or keep fewer snapshots',
};

/** Storage refuses a signature that is some minutes old or of the future, by various codes. */
const maxSkewMs = 300_000;

/** Advice if a request was refused and the two clocks differ; otherwise null. */
function adviseOnClock({status, aheadMs}: StorageResponseFacts): string | null {
  const isRefused = status === 400 || status === 401 || status === 403;
  if (!isRefused || !(Math.abs(aheadMs) > maxSkewMs)) return null;
  const direction = aheadMs > 0 ? 'ahead of' : 'behind';
  return `${setClock}: it is ${formatDuration(Math.abs(aheadMs))} ${direction} that of the storage`;
}

/** `NoSuchBucket`; null if the answer has no code. */
function readCode({text}: StorageResponse): string | null {
  return /<Code>([A-Za-z]{1,64})<\/Code>/.exec(text)?.[1] ?? null;
}

function findKeys(place: string, {storageKeys}: StorageAccess): StorageKeys {
  if (storageKeys !== null) return storageKeys;
  throw new UsageError(
    `${place}: expected AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the environment of this ` +
      'process, got none; an HMAC key of Google Cloud Storage belongs there, too',
  );
}

function openAgents(
  endpoint: URL,
  place: string,
  {allowsHttp, allowsLinkLocal: allowLinkLocal, lookup}: StorageAccess,
) {
  const isLocal = endpoint.protocol === 'http:' && isLoopback(endpoint.hostname);
  if (endpoint.protocol !== 'https:' && !isLocal && !allowsHttp)
    throw new UsageError(
      `${place}: expected an endpoint of https, got http to ${endpoint.hostname}; ` +
        'FIELDMIRROR_ALLOW_HTTP=1 allows it',
    );
  const chosenLookup = isLocal ? onlyThisMachine(lookup) : lookup;
  return createAgents({
    allowLinkLocal,
    ...(chosenLookup === undefined ? {} : {lookup: chosenLookup}),
  });
}

function makeFileBody(folder: string, {file, bytes, sha256}: SnapshotFile): Body {
  return {bytes, sha256, open: () => createReadStream(join(folder, file))};
}

function makeTextBody(text: string): Body {
  return {...measure(text), open: () => text};
}
