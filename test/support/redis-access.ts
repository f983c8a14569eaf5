// What every server of a cluster or under sentinels asks of its clients: a password, and TLS where
// a test wants it.

import {execFileSync} from 'node:child_process';
import {readFileSync} from 'node:fs';
import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {dirname, join} from 'node:path';
import {Redis} from 'ioredis';
import type {SetUp} from './set-up.ts';

export interface RedisAccess {
  /** `redis`, or `rediss` with TLS. */
  readonly scheme: 'redis' | 'rediss';
  /** The certificate, signed by itself; null without TLS. */
  readonly certificatePath: string | null;
  /** Lines of a server's or a sentinel's configuration, but for its password. */
  listen(port: number): string[];
  /** Asks one server, which may still be on its way up. */
  ask(port: number, password: string, ...command: readonly string[]): Promise<unknown>;
}

/** Many servers that are one queue. */
export interface ManyRedises {
  readonly url: string;
  readonly certificatePath: string | null;
  /** Ports of the servers that take writes; the one with our keys is the first. */
  primaries(): Promise<number[]>;
  /** The port of the replica of the server with our keys. */
  replica(): Promise<number>;
  signal(port: number, signal: NodeJS.Signals): void;
  /** Asks one server. */
  ask(port: number, ...command: readonly string[]): Promise<unknown>;
  stop(): Promise<void>;
}

/** Special characters, to be encoded in an address. */
export const password = 'canary@word/1';
export const encodedPassword = encodeURIComponent(password);

export async function openAccess(
  setUp: SetUp,
  {isTls}: {readonly isTls: boolean},
): Promise<RedisAccess> {
  const certificatePath = isTls ? await makeCertificate(setUp) : null;
  const ca = certificatePath === null ? null : readFileSync(certificatePath);
  return {
    scheme: isTls ? 'rediss' : 'redis',
    certificatePath,
    listen: (port) =>
      certificatePath === null ? [`port ${port}`] : listenTls(port, certificatePath),
    ask: async (port, secret, ...[command = '', ...args]) => {
      const redis = new Redis({
        host: '127.0.0.1',
        port,
        password: secret,
        enableReadyCheck: false,
        retryStrategy: () => 20,
        maxRetriesPerRequest: null,
        ...(ca === null ? {} : {tls: {ca}}),
      });
      redis.on('error', () => {});
      try {
        return await redis.call(command, ...args);
      } finally {
        redis.disconnect();
      }
    },
  };
}

function listenTls(port: number, certificatePath: string): string[] {
  return [
    'port 0',
    `tls-port ${port}`,
    `tls-cert-file ${certificatePath}`,
    `tls-key-file ${keyPathOf(certificatePath)}`,
    `tls-ca-cert-file ${certificatePath}`,
    'tls-auth-clients no',
    'tls-replication yes',
  ];
}

async function makeCertificate(setUp: SetUp): Promise<string> {
  const folder = await setUp.step(
    'making a folder for the certificate',
    () => mkdtemp(join(tmpdir(), 'fieldmirror-certificate-')),
    (path) => rm(path, {recursive: true, force: true}),
  );
  const path = join(folder, 'certificate.pem');
  const kind = [
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
  ];
  const names = ['-subj', '/CN=queue', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', keyPathOf(path), '-out', path];
  execFileSync('openssl', ['req', ...kind, ...names, ...files], {stdio: 'ignore'});
  return path;
}

function keyPathOf(certificatePath: string): string {
  return join(dirname(certificatePath), 'key.pem');
}
