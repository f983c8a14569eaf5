// A client that finds a record and saves it sends back what the service showed, as ActiveResource
// does.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {routes} from '../../src/service/server.ts';
import {field, openSandbox, type Sandbox, type Seen} from './sandbox.ts';

const updates = routes.filter(({method}) => method === 'PUT').map(({path}) => path);

/** The values that fill each route's address; a new route that updates must have its own. */
const addresses: Readonly<Record<string, string>> = {
  '/customers/:customer_number.xml': 'SELECT customer_number AS a FROM service.customers AS n',
  '/customers/:customer_number/notes/:note_id.xml': `SELECT customer_number AS a, n.id AS b
    FROM service.notes AS n
       JOIN service.customers AS o ON o.id = (n.fields ->> 'noteable_id')::bigint
       AND o.deleted_at IS NULL`,
  '/jobs/:job_number.xml': 'SELECT job_number AS a FROM service.jobs AS n',
  '/jobs/:job_number/notes/:note_id.xml': `SELECT job_number AS a, n.id AS b FROM service.notes AS n
       JOIN service.jobs AS o ON o.id = (n.fields ->> 'noteable_id')::bigint
       AND o.deleted_at IS NULL`,
  '/jobs/:job_number/time_entries/:time_entry_id.xml': `SELECT job_number AS a, n.id AS b
    FROM service.time_entries AS n
       JOIN service.jobs AS o ON o.id = job_id AND o.deleted_at IS NULL`,
  '/employees/:employee_number.xml': 'SELECT employee_number AS a FROM service.employees AS n',
  '/tasks/:id.xml': 'SELECT id AS a FROM service.tasks AS n',
};

describe.each(['observed', 'documented'] as const)('in the %s dialect', (dialect) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await openSandbox({dialect});
  });
  afterAll(() => sandbox.close());

  test.each(updates)(
    '%s accepts its own answer as a PUT body, and the record stays unchanged',
    async (route) => {
      const paths = await pathsOf(sandbox, route);
      expect(paths).not.toEqual([]);
      for (const path of paths) {
        const shown = await sandbox.get(path);
        const put = await sandbox.call('PUT', path, {body: shown.text});
        expect([path, put.status, put.status === 200 ? '' : put.text]).toEqual([path, 200, '']);
        expect(valuesOf((await sandbox.get(path)).root)).toEqual(valuesOf(shown.root));
      }
    },
  );
});

/** The addresses of forty records, spread over all that are live. */
async function pathsOf(sandbox: Sandbox, route: string): Promise<string[]> {
  const rows = await sandbox.sql(`${addresses[route]} WHERE n.deleted_at IS NULL ORDER BY 1`);
  const every = Math.max(1, Math.floor(rows.length / 40));
  return rows
    .filter((_, at) => at % every === 0)
    .map(({a, b}) => {
      const values = [String(a), String(b)];
      return route.replaceAll(/:[a-z_]+/g, () => values.shift() ?? '');
    });
}

/** All but who changed it last, and when. */
function valuesOf(record: Seen): (readonly [string, string | null | undefined])[] {
  return record.elements
    .filter(({name}) => name !== 'updated_at' && name !== 'updated_by')
    .map(({name}) => [name, field(record, name)]);
}
