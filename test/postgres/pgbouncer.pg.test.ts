// The command line behind a real PgBouncer, as its user meets it.

import {afterAll, afterEach, beforeAll, describe, expect, inject, test} from 'vitest';
import {runCommand} from '../support/command.ts';
import {expectMirrored, readLastWrites} from '../support/expect-mirrored.ts';
import {allowLargeEdits} from '../support/large-edits.ts';
import {inSequence} from '../support/patterns.ts';
import {isInstalled, type PgBouncer, startPgBouncer} from '../support/pgbouncer.ts';
import {openPlace, type Place} from '../support/place.ts';
import {createDatabase} from '../support/postgres.ts';
import {withClient} from '../support/with-client.ts';

let bouncer: PgBouncer;
let place: Place;
/** The environment with a way through PgBouncer and one around it. */
let both: Readonly<Record<string, string>>;
/** The environment that names PgBouncer alone. */
let through: Readonly<Record<string, string>>;

async function open(template?: string): Promise<void> {
  place = await openPlace({}, template);
  through = {...place.env, DATABASE_URL: bouncer.through(place.databaseUrl)};
  both = {...through, DATABASE_DIRECT_URL: place.databaseUrl};
}

afterEach(() => place.close());

describe.skipIf(!isInstalled())(
  'behind a PgBouncer in transaction mode that has two server sessions',
  () => {
    beforeAll(async () => {
      bouncer = await startPgBouncer(inject('postgresUrl'));
    });
    afterAll(() => bouncer.stop());

    test('start --once mirrors the account, then writes no row again, and push works', async () => {
      await open();
      const first = await runCommand(['start', '--once', '--json'], both);
      expect(first, first.stderr).toMatchObject({code: 0});
      await expectMirrored(place.databaseUrl, place.service);
      const before = await readLastWrites(place.databaseUrl);
      expect(await runCommand(['start', '--once'], both)).toMatchObject({code: 0});
      expect(await readLastWrites(place.databaseUrl)).toEqual(before);
      await withClient(place.databaseUrl, allowLargeEdits);
      await withClient(through.DATABASE_URL ?? '', (client) =>
        client.query(
          `UPDATE warehouse.customers SET fax = '555-' || customer_number
            WHERE customer_number % 2 = 0`,
        ),
      );
      const pushed = await runCommand(['push'], both);
      expect(pushed, pushed.stderr).toMatchObject({code: 0, stdout: expect.stringMatching(/done/)});
      await expectMirrored(place.databaseUrl, place.service);
    });

    test('doctor finds nothing to fix, and status prints no error', async () => {
      await open(inject('warehouseTemplate'));
      const {code, stdout, stderr} = await runCommand(['doctor'], both);
      expect(stdout + stderr).toMatch(
        /good +direct Postgres: the same database, in sessions of our own/,
      );
      expect(code, stdout).toBe(0);
      expect(await runCommand(['status'], both)).toMatchObject({stderr: ''});
    });

    test.each([['start', '--once'], ['status'], ['push'], ['migrate'], ['doctor']])(
      'without DATABASE_DIRECT_URL %s exits with 3 and explains what to do',
      async (...verb) => {
        await open(inject('warehouseTemplate'));
        const {code, stdout, stderr} = await runCommand(verb, through);
        expect((stdout + stderr).replace(/\s+/g, ' ')).toMatch(
          inSequence(
            /a pooler in between gives each transaction another session/,
            /.*set DATABASE_DIRECT_URL to the address of Postgres itself/,
          ),
        );
        expect(code).toBe(3);
      },
    );

    test('a DATABASE_DIRECT_URL to a pooler, other database or no server is refused', async () => {
      await open(inject('warehouseTemplate'));
      const other = await createDatabase(inject('warehouseTemplate'));
      for (const [directUrl, words] of [
        [through.DATABASE_URL ?? '', /a pooler in between.*set DATABASE_DIRECT_URL/],
        [
          other.url,
          /DATABASE_DIRECT_URL: expected the database of DATABASE_URL .*, got another one/,
        ],
        ['postgres://u:p@127.0.0.1:1/d', /nothing listens there.*in DATABASE_DIRECT_URL/],
      ] as const) {
        for (const verb of ['start', 'doctor', 'migrate']) {
          const {code, stdout, stderr} = await runCommand([verb], {
            ...both,
            DATABASE_DIRECT_URL: directUrl,
          });
          expect((stdout + stderr).replace(/\s+/g, ' '), verb).toMatch(words);
          expect(code).toBe(3);
        }
      }
      await other.drop();
    });

    test('no setting of Fieldmirror stays in a session that other clients get', async () => {
      await open(inject('warehouseTemplate'));
      const settings = `SELECT name, setting FROM pg_settings
        WHERE name IN ('search_path', 'statement_timeout', 'lock_timeout',
                             'idle_in_transaction_session_timeout', 'bytea_output',
                               'client_min_messages', 'jit') ORDER BY name`;
      const read = async (url: string) =>
        (await withClient(url, (client) => client.query(settings))).rows;
      const untouched = await read(place.databaseUrl);
      await runCommand(['doctor'], both);
      await runCommand(['status'], through);
      expect(await read(through.DATABASE_URL ?? '')).toEqual(untouched);
    });
  },
);

describe.skipIf(!isInstalled())('behind a PgBouncer in session mode', () => {
  beforeAll(async () => {
    bouncer = await startPgBouncer(inject('postgresUrl'), {
      pool_mode: 'session',
      default_pool_size: '40',
    });
  });
  afterAll(() => bouncer.stop());

  test('start --once works without DATABASE_DIRECT_URL', async () => {
    await open();
    const ended = await runCommand(['start', '--once'], through);
    expect(ended, ended.stderr).toMatchObject({code: 0});
    await expectMirrored(place.databaseUrl, place.service);
  });
});
