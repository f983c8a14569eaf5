// The signature of a request to S3-compatible storage, version 4: a keyed hash of its method, path,
// query, headers and body, by which the storage knows the sender and that nothing was altered.
// @see https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html

import {createHash, createHmac} from 'node:crypto';
import type {StorageKeys} from '../core/config.ts';

interface UnsignedRequest {
  readonly method: 'GET' | 'PUT' | 'DELETE';
  /** Its path must need no escapes. */
  readonly url: URL;
  /** SHA-256 of the body, in hex. */
  readonly bodySha256: string;
  readonly region: string;
  readonly at: Date;
  /** Further headers that are signed, by names in small letters. */
  readonly headers?: Readonly<Record<string, string>>;
}

const algorithm = 'AWS4-HMAC-SHA256';

/** The SHA-256 of a body without bytes. */
export const emptySha256 = createHash('sha256').digest('hex');

/** @returns all headers of the request, its signature among them */
export function signRequest(
  {method, url, bodySha256, region, at, headers = {}}: UnsignedRequest,
  {accessKeyId, secretAccessKey, sessionToken}: StorageKeys,
): Readonly<Record<string, string>> {
  const time = at.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const day = time.slice(0, 8);
  const signed: Record<string, string> = {
    ...headers,
    host: url.host,
    'x-amz-content-sha256': bodySha256,
    'x-amz-date': time,
    ...(sessionToken === null ? {} : {'x-amz-security-token': sessionToken.reveal()}),
  };
  const names = Object.keys(signed).toSorted();
  const canonical = [
    ...[method, url.pathname, spellQuery(url.searchParams)],
    ...names.map((name) => `${name}:${signed[name]?.trim()}`),
    ...['', names.join(';'), bodySha256],
  ].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const hash = createHash('sha256').update(canonical).digest('hex');
  const key = [day, region, 's3', 'aws4_request'].reduce(
    (before: string | Buffer, part) => createHmac('sha256', before).update(part).digest(),
    `AWS4${secretAccessKey.reveal()}`,
  );
  const signature = createHmac('sha256', key)
    .update([algorithm, time, scope, hash].join('\n'))
    .digest('hex');
  const facts = {
    Credential: `${accessKeyId}/${scope}`,
    SignedHeaders: names.join(';'),
    Signature: signature,
  };
  const told = Object.entries(facts).map((fact) => fact.join('='));
  return {...signed, authorization: `${algorithm} ${told.join(',')}`};
}

/** In the order of names, with more escapes than a browser makes. */
function spellQuery(query: URLSearchParams): string {
  return [...query]
    .map(([name, value]) => `${spellWord(name)}=${spellWord(value)}`)
    .toSorted()
    .join('&');
}

/** A text of a query, as the signature and the request have it. */
function spellWord(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
