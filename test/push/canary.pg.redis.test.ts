// A password and a token that can be recognized go through every fate of a secret, and are then
// looked for everywhere: tables, history, queue, log, errors, the log of Postgres.

import {Redis} from 'ioredis';
import pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue-backend.ts';
import {startWorkers, type Workers} from '../../jobs/workers.ts';
import {emptyRedis} from '../support/redis.ts';
import {type LoginPlace, openLoginPlace, type Weather} from './login-place.ts';
import {findAnywhere, formsOf, type Haystack} from './search-everything.ts';

const backends = ['postgres', ...(inject('redisUrl') === null ? [] : ['redis'])] as const;
/** Secrets told apart by their ends; ASCII, so that every table shows them alike. */
const canary = (end: string) => `Kanari&<7/+${end}`;
const employees = 8;

describe.each(backends)(
  'with the queue on %s, the password and the token are found nowhere',
  (kind) => {
    let place: LoginPlace;
    let workers: Workers;
    let client: pg.Client;
    let haystack: Haystack & {readonly told: string[]};
    let numbers: string[] = [];
    const planted: string[] = [];

    beforeAll(async () => {
      place = await openLoginPlace(employees);
      const {pool, databaseUrl, log, account} = place;
      const redisUrl = kind === 'redis' ? await emptyRedis() : null;
      haystack = {pool, redisUrl, lines: place.lines, told: []};
      numbers = [...place.numbers];
      // As Postgres comes: the text of a failed statement is logged.
      const database = new URL(databaseUrl).pathname.slice(1);
      await pool.query(`ALTER DATABASE ${database} SET log_min_error_statement = 'error'`);
      client = new pg.Client({connectionString: databaseUrl});
      client.on('notice', ({message = ''}) => void haystack.told.push(message));
      await client.connect();
      const backend = await openQueueBackend({redisUrl, databaseUrl, log});
      workers = await startWorkers(place, backend, {
        accountIds: [account.accountId],
        keepsSchedules: true,
      });
    });
    afterAll(async () => {
      await workers.stop();
      await client.end();
      await place.close();
    });

    /** Sets a login; a refusal is kept for the search. */
    async function set(
      number: string,
      password: string,
      how: {literal?: boolean; force?: boolean} = {},
    ) {
      planted.push(password);
      const {literal = false, force = false} = how;
      const name = `user${planted.length}`;
      const {rows} = literal
        ? await client.query(
            `SELECT * FROM sync.set_employee_login(${number}, '${name}',
              ${pg.escapeLiteral(password)}, ${force})`,
          )
        : await client.query('SELECT * FROM sync.set_employee_login($1, $2, $3, $4)', [
            number,
            name,
            password,
            force,
          ]);
      if (rows[0].refused !== null) haystack.told.push(rows[0].refused);
      return rows[0].change_id as string | null;
    }

    /** Makes a change due, and waits for a state in which it stays for a while. */
    async function comesTo(
      changeId: string | null,
      state: string,
      weather: Weather = place.weather,
    ) {
      place.weather = weather;
      await client.query('UPDATE sync.changes SET due_at = now() WHERE change_id = $1', [changeId]);
      await workers.wakeDue();
      await expect
        .poll(async () => (await place.change(changeId)).state, {timeout: 20_000, interval: 50})
        .toBe(state);
    }

    test('after one that succeeds, whichever way it was given', async () => {
      for (const literal of [true, false]) {
        const number = numbers.pop() ?? '';
        const password = canary(`fair-${literal}`);
        await comesTo(await set(number, password, {literal}), 'done');
        expect(await place.opens(number, password)).toBe(true);
      }
    });

    test('after those that are refused at once', async () => {
      for (const literal of [true, false]) {
        for (const number of ['99999', numbers[0] ?? ''])
          expect(await set(number, canary(`refused-${literal}`), {literal})).toBeNull();
        expect(await set(numbers[1] ?? '', `${canary('control')}\n`, {literal})).toBeNull();
      }
    });

    test('after a service that is down, and one that is busy', async () => {
      const number = numbers.pop() ?? '';
      const password = canary('down');
      const failures = async (id: string | null) => (await place.change(id)).failures;
      await place.shut();
      const id = await set(number, password, {literal: true});
      await expect.poll(() => failures(id), {timeout: 20_000}).toBe(1);
      await place.reopen();
      place.weather = 'busy';
      await client.query('UPDATE sync.changes SET due_at = now() WHERE change_id = $1', [id]);
      await workers.wakeDue();
      await expect.poll(() => failures(id), {timeout: 20_000}).toBe(2);
      await comesTo(id, 'done', 'fair');
      expect(await place.opens(number, password)).toBe(true);
    });

    test('after one that the service refuses, repeating it with the token', async () => {
      place.weather = 'echo';
      await comesTo(await set(numbers.pop() ?? '', canary('echo')), 'rejected');
      place.weather = 'mumble';
      await comesTo(await set(numbers.pop() ?? '', canary('mumble')), 'in_doubt');
      place.weather = 'fair';
    });

    test('after one in doubt, and one that waits for good', async () => {
      place.weather = 'lost';
      const id = await set(numbers.pop() ?? '', canary('lost'), {literal: true});
      await comesTo(id, 'in_doubt');
      await comesTo(id, 'conflict', 'fair');
      await client.query(`SET fieldmirror.mode = 'hold'`);
      const held = await set(numbers.pop() ?? '', canary('held'));
      await client.query('RESET fieldmirror.mode');
      expect(await place.change(held)).toMatchObject({state: 'held', isKept: true});
    });

    test('after the token itself was changed with it', async () => {
      const [own = ''] = numbers;
      await comesTo(await set(own, canary('own'), {force: true}), 'in_doubt');
      await place
        .sweep('employees')
        .catch((error: unknown) => void haystack.told.push(String(error)));
    });

    test('anywhere', async () => {
      const {token} = place.service;
      const secrets = [...new Set(planted.map((password) => password.trim())), token];
      expect(secrets.length).toBeGreaterThan(8);
      expect(place.bodies.join('')).toContain('Kanari&amp;&lt;7/+fair-true');
      expect(haystack.lines.length).toBeGreaterThan(5);
      expect(haystack.told.length).toBeGreaterThan(5);
      expect(await findAnywhere(haystack, [...secrets.flatMap(formsOf), 'Kanari'])).toEqual([]);
    });

    test('by a search that finds what is there', async () => {
      const [one, two, three, four, five, six] = formsOf(canary('planted'));
      const {pool, redisUrl} = haystack;
      await pool.query(
        `UPDATE history.past_employees SET extra = jsonb_build_object('x', $1::text)`,
        [one],
      );
      await pool.query('UPDATE sync.attempts SET request = $1', [two]);
      await pool.query('UPDATE sync.login_keys SET public_key = convert_to($1, $2)', [
        three,
        'UTF8',
      ]);
      await client.query(`SELECT '${four}'::int`).catch(() => {});
      place.log.debug({five}, 'planted');
      const redis = redisUrl === null ? null : new Redis(redisUrl);
      await redis?.hset('fieldmirror:planted', 'x', six ?? '');
      redis?.disconnect();
      haystack.told.push(new Error(`planted: ${one}`).message);
      expect(await findAnywhere(haystack, formsOf(canary('planted')))).toEqual(
        [
          'an error',
          'the log',
          'the log of Postgres',
          'history.past_employees',
          'sync.attempts',
          'sync.login_keys',
          ...(redis === null ? [] : ['Redis']),
        ].sort(),
      );
    });
  },
);
