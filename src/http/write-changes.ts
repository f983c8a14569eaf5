import {createHash} from 'node:crypto';
import type pg from 'pg';
import {
  type ApiRequest,
  type ApiResult,
  claimApiRequest,
  keepApiResults,
} from '../accounts/access.ts';
import {inTransaction} from '../postgres/database.ts';
import {type Result, unchangedSchema} from './answers.ts';
import type {AccountKey} from './authentication.ts';
import type {ChangeRequest} from './change-request.ts';
import {Problem} from './problem.ts';
import {readChanges} from './read-change.ts';
import {type Made, writeChange} from './write-change.ts';

/** A request as it came in. */
export interface ChangesRequest {
  readonly key: AccountKey;
  /** One, or an array. */
  readonly body: ChangeRequest | readonly ChangeRequest[];
  /** The name of the transaction; null for none. */
  readonly batch: string | null;
  /** The caller's own name for the request: the same request again has no effect of its own. */
  readonly idempotencyKey: string | null;
}

/**
 * Makes all changes of a request, or none, in one transaction. A request that came before under the
 * same idempotency key is answered with its changes.
 * @returns the results in the order of the request; each change as it is now
 * @throws {Problem} a change is refused, or the key was used for another request
 */
export async function writeChanges(
  pool: pg.Pool,
  {key, body, batch, idempotencyKey}: ChangesRequest,
): Promise<{readonly results: readonly Result[]; readonly isReplay: boolean}> {
  return await inTransaction(pool, async (client) => {
    // The HTTP API is an author like any other, whichever author used the connection before.
    await client.query(
      `SELECT set_config('fieldmirror.writer', '', true), set_config('application_name', $1, true),
              set_config('fieldmirror.batch', $2, true)`,
      [`http: ${key.name}`, batch ?? ''],
    );
    const {accountId} = key;
    const request =
      idempotencyKey === null ? null : {accountId, idempotencyKey, bodyHash: hashBody(body)};
    const before = request === null ? null : await findBefore(client, request);
    const results = before ?? (await writeAll(client, {key, body}));
    if (request !== null && before === null) await keepApiResults(client, request, results);
    return {results: await readResults(client, accountId, results), isReplay: before !== null};
  });
}

async function findBefore(
  client: pg.ClientBase,
  request: ApiRequest,
): Promise<readonly ApiResult[] | null> {
  const before = await claimApiRequest(client, request);
  if (before === null || before.isSameBody) return before?.results ?? null;
  throw new Problem(422, 'key-reused', {
    detail: 'Idempotency-Key: it was used for another request',
    hint: 'Give each request a key of its own; repeat a request with the key and the body that it had.',
    errors: [
      {in: 'header', at: 'Idempotency-Key', expected: 'a new key, or the same body as before'},
    ],
  });
}

async function writeAll(
  client: pg.ClientBase,
  {key, body}: Pick<ChangesRequest, 'key' | 'body'>,
): Promise<readonly ApiResult[]> {
  const earlier: Made[] = [];
  const requests = isArray(body) ? body : [body];
  for (const [index, request] of requests.entries())
    earlier.push(
      await writeChange(client, request, {key, at: isArray(body) ? `/${index}` : '', earlier}),
    );
  return earlier.map(({result}) => result);
}

async function readResults(
  client: pg.ClientBase,
  accountId: string,
  results: readonly ApiResult[],
): Promise<readonly Result[]> {
  const ids = results.flatMap((result) => ('change_id' in result ? [result.change_id] : []));
  const changes = await readChanges(client, accountId, ids);
  return results.map((result) => {
    if (!('change_id' in result)) return unchangedSchema.parse(result.unchanged);
    const change = changes.get(result.change_id);
    if (change === undefined) throw new Error(`change ${result.change_id}: it is gone`);
    return change;
  });
}

/**
 * The hash of the parsed body, not of its bytes: blanks and the order of names make no other
 * request.
 */
function hashBody(body: ChangesRequest['body']): Buffer {
  return createHash('sha256').update(JSON.stringify(body)).digest();
}

function isArray(body: ChangesRequest['body']): body is readonly ChangeRequest[] {
  return Array.isArray(body);
}
