// The reference service with merged customers, as the real one has them: the number of the one that
// went is answered with the one that stayed, and its jobs are those of the other. The reference
// service merges none: a proxy before it does.

import type {LocalServer} from './local-server.ts';
import {openProxy} from './proxy.ts';
import {withClient} from './with-client.ts';
import type {TestService} from './world.ts';

export interface MergingService extends LocalServer {
  /** Number that is asked for, and the one that is shown in its place; `*` for every number. */
  readonly shown: Map<string, string>;
  /** Merges one customer into another. */
  merge(number: string, into: string): Promise<void>;
}

export async function openMergingService(service: TestService): Promise<MergingService> {
  const shown = new Map<string, string>();
  const proxy = await openProxy(service.url, {
    receive: ({method, path, headers: {authorization = ''}}, response) => {
      const number = /^\/customers\/(\d+)\.xml/.exec(path)?.[1] ?? '';
      const instead = shown.get(number) ?? shown.get('*');
      if (number === '' || instead === undefined) return false;
      const url = new URL(path.replace(number, instead), service.url);
      fetch(url, {method, headers: {authorization}}).then(async (answer) => {
        response.writeHead(answer.status, {'content-type': 'application/xml; charset=utf-8'});
        response.end(await answer.text());
      });
      return true;
    },
  });
  const merge = async (number: string, into: string) => {
    await withClient(service.databaseUrl, async (db) => {
      const id = '(SELECT id FROM service.customers WHERE customer_number = ';
      await db.query(
        `UPDATE service.jobs
            SET fields = fields || jsonb_build_object('customer_id', ${id}$2)::text)
          WHERE customer_id = ${id}$1)`,
        [number, into],
      );
      await db.query(
        `UPDATE service.customers SET fields = fields || '{"deleted_at": "2026-11-02T15:00:00Z"}'
          WHERE customer_number = $1`,
        [number],
      );
    });
    shown.set(number, into);
  };
  return {...proxy, shown, merge};
}
