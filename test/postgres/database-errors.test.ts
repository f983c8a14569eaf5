import {join} from 'node:path';
import pg from 'pg';
import {describe, expect, test} from 'vitest';
import {FatalError, RecordError, RetryableError, UsageError} from '../../src/core/errors.ts';
import {openPool} from '../../src/postgres/database.ts';
import {describeDatabase, explainDatabaseError} from '../../src/postgres/database-errors.ts';

const url = 'postgres://mirror:s3cret-word@db.example.com:6543/warehouse?sslmode=disable';

function databaseError(code: string, facts: Partial<pg.DatabaseError> = {}): pg.DatabaseError {
  return Object.assign(new pg.DatabaseError('what Postgres says', 10, 'error'), {code, ...facts});
}

function systemError(code: string, facts: object = {}): Error {
  return Object.assign(new Error(`connect ${code}`), {code, ...facts});
}

/** Every text of an error that a log could print. */
function printAll(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const shown = `${JSON.stringify(error)} ${JSON.stringify(Object.entries(error))}`;
  return `${error.stack} ${shown} ${printAll(error.cause)}`;
}

describe('a failure of the database', () => {
  test.each([
    systemError('ECONNREFUSED'),
    systemError('ENOTFOUND'),
    systemError('ECONNRESET'),
    systemError('ETIMEDOUT'),
    systemError('ENOENT', {syscall: 'connect'}),
    new AggregateError([systemError('ECONNREFUSED'), systemError('ECONNREFUSED')]),
    ...[
      '53100',
      '53400',
      '57P01',
      '57P02',
      '57P03',
      '53300',
      '08006',
      '40001',
      '40P01',
      '55P03',
      '57014',
    ].map((code) => databaseError(code)),
    new Error('Connection terminated unexpectedly'),
    new Error('timeout exceeded when trying to connect'),
    new Error('Connection terminated due to connection timeout'),
  ])('that is temporary is retryable: %s', (error) => {
    expect(explainDatabaseError(error, url)).toBeInstanceOf(RetryableError);
  });

  test.each([
    ['sslrootcert', 'ENOENT', 'no-such.crt'],
    ['sslcert', 'ENOTDIR', 'database-errors.test.ts/no-such.crt'],
    ['sslkey', 'EISDIR', '.'],
  ])(
    'that is a file of the address, %s, is an error of the setting: %s',
    async (name, code, file) => {
      const path = join(import.meta.dirname, file);
      const address = `postgres://127.0.0.1:1/warehouse?sslmode=verify-full&${name}=${path}`;
      const pool = openPool(address, {max: 1, applicationName: 'test'});
      const connect = async () => await pool.connect();
      const error = await connect().catch((reason: unknown) => reason);
      await pool.end();
      const explained = explainDatabaseError(error, address);
      expect(explained).toBeInstanceOf(UsageError);
      expect(explained.message).toMatch(
        /^DATABASE_URL: \w+: expected a file that this process may/,
      );
      expect(explained.message).toContain(`URL: ${name}: `);
      expect(explained.message).toContain(`got ${code} for ${path};`);
    },
  );

  test.each([
    ...['28P01', '28000', '3D000', '3F000', '42P01', '42501'].map((code) => databaseError(code)),
    new Error('The server does not support SSL connections'),
    new Error('SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string'),
    systemError('SELF_SIGNED_CERT_IN_CHAIN'),
  ])('that a person must fix is fatal: %s', (error) => {
    expect(explainDatabaseError(error, url)).toBeInstanceOf(FatalError);
  });

  test('on a standby server is retryable, and its message advises to promote it', () => {
    const error = explainDatabaseError(databaseError('25006'), url);
    expect(error).toBeInstanceOf(RetryableError);
    expect(error.message).toMatch(
      /most likely a standby; promote it, or point DATABASE_URL at the primary/,
    );
    expect(error.message).toContain(
      'if it is no standby, switch off default_transaction_read_only',
    );
  });

  test.each([
    ['28000', FatalError, 'no pg_hba.conf entry for host "10.0.0.7"'],
    ['53300', RetryableError, 'too many connections for role "mirror"'],
    ['55000', RetryableError, 'database "warehouse" is not currently accepting connections'],
    ['08P01', RetryableError, 'no more connections allowed (max_client_conn)'],
    ['57P04', RetryableError, 'terminating connection because a database was dropped'],
  ])('that refuses or ends a session has the words of the server: %s', (code, type, message) => {
    const refusal = Object.assign(databaseError(code, {severity: 'FATAL'}), {message});
    const error = explainDatabaseError(refusal, url);
    expect(error).toBeInstanceOf(type);
    expect(error.message).toMatch(/^Postgres at db\.example\.com:6543, database warehouse: /);
    expect(error.message).toContain(`(${code}, ${message})`);
    expect(error.message).not.toContain('broke');
  });

  test('of a transaction that took too long names the limit, not the network', () => {
    const limit = databaseError('25P04', {severity: 'FATAL'});
    const message = 'terminating connection due to transaction timeout';
    const error = explainDatabaseError(Object.assign(limit, {message}), url);
    expect(error).toBeInstanceOf(RetryableError);
    expect(error.message).toContain('longer than transaction_timeout allows; set it to 0');
  });

  test('of a statement that the server refuses is returned unchanged', () => {
    const error = databaseError('55000', {severity: 'ERROR'});
    expect(explainDatabaseError(error, url)).toBe(error);
  });

  test('names host, port, database and the next step', () => {
    const {message} = explainDatabaseError(systemError('ECONNREFUSED'), url);
    expect(message).toBe(
      'Postgres at db.example.com:6543, database warehouse: nothing listens there; ' +
        'start Postgres, or fix the host and port in DATABASE_URL (ECONNREFUSED)',
    );
    expect(explainDatabaseError(databaseError('42P01'), url).message).toContain(
      'run `fieldmirror migrate`',
    );
  });

  test('never shows the password or the values of a row', () => {
    const error = databaseError('28P01', {
      detail: 'Key (name)=(private)',
      where: 'COPY jobs, line 1: "private"',
    });
    const shown = printAll(explainDatabaseError(error, url));
    expect(shown).not.toContain('s3cret-word');
    expect(shown).not.toContain('private');
  });

  test('of an idle connection does not show the password that pg attaches to the error', () => {
    const error = Object.assign(new Error('Connection terminated unexpectedly'), {
      client: {password: 's3cret-word'},
    });
    expect(printAll(explainDatabaseError(error, url))).not.toContain('s3cret-word');
  });

  test('is returned unchanged if it does not come from the database', () => {
    const others = [
      new RetryableError('ours'),
      new FatalError('ours'),
      new RecordError('ours'),
      new UsageError('ours'),
      new TypeError('a bug'),
      systemError('ENOENT', {syscall: 'open'}),
    ];
    for (const error of others) expect(explainDatabaseError(error, url)).toBe(error);
    expect(explainDatabaseError('thrown text', url).message).toBe('thrown text');
  });
});

describe('a database address', () => {
  test('is described without its password', () => {
    expect(describeDatabase(url)).toBe('Postgres at db.example.com:6543, database warehouse');
    expect(describeDatabase('postgres:///db?host=/var/run/postgresql&user=u&password=p')).toBe(
      'Postgres at /var/run/postgresql, database db',
    );
  });

  test('is not quoted if it cannot be parsed', () => {
    for (const broken of [
      'postgres://mirror:s3cret-word@db:port/x',
      's3cret-word',
      'postgres://u:s3cret-word@[::1/x',
    ]) {
      expect(describeDatabase(broken)).not.toContain('s3cret-word');
      expect(() => openPool(broken, {max: 1, applicationName: 'test'})).toThrow(UsageError);
      expect(() => openPool(broken, {max: 1, applicationName: 'test'})).not.toThrow(/s3cret-word/);
    }
  });
});
