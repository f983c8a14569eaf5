// Servers of S3-compatible storage, each in a process of its own, with one bucket. The first knows
// its keys by name alone. The second, rclone, checks signatures and clocks.

import {mkdir, mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {startProgram} from './command.ts';
import {freePorts} from './free-ports.ts';

export interface S3Server {
  readonly url: string;
  /** The keys that it knows, as a process has them. */
  readonly keys: Readonly<Record<string, string>>;
  /** Names of all objects, in order. */
  list(): Promise<string[]>;
  read(key: string): Promise<Buffer>;
  close(): Promise<void>;
}

export const bucket = 'lake';
const program = join(import.meta.dirname, '..', '..', 'node_modules', 's3rver', 'bin', 's3rver.js');

export async function openS3Server(): Promise<S3Server> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-s3-'));
  const [port = 0] = await freePorts(1);
  const running = startProgram(
    [
      ...[process.execPath, program, '--directory', folder, '--address', '127.0.0.1'],
      ...['--port', String(port), '--configure-bucket', bucket],
    ],
    {},
  );
  await running.prints(/listening/);
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    keys: {AWS_ACCESS_KEY_ID: 'S3RVER', AWS_SECRET_ACCESS_KEY: 'S3RVER'},
    list: async () => {
      const answer = await fetch(`${url}/${bucket}?list-type=2`);
      return [...(await answer.text()).matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key = '']) => key);
    },
    read: async (key) => {
      const answer = await fetch(`${url}/${bucket}/${key}`);
      if (!answer.ok) throw new Error(`${key}: ${answer.status}`);
      return Buffer.from(await answer.arrayBuffer());
    },
    close: async () => {
      running.process.kill('SIGKILL');
      await running.ended;
      await rm(folder, {recursive: true, force: true});
    },
  };
}

/** The keys that `openCheckedS3Server` knows. */
const checkedKeys = {AWS_ACCESS_KEY_ID: 'CHECKED', AWS_SECRET_ACCESS_KEY: 'a-secret-of-tests'};

/**
 * rclone, which refuses a signature by a wrong key or a wrong clock, as the storage of a vendor
 * does. Objects are files of its folder.
 * @param folder - where its one bucket is
 */
export async function openCheckedS3Server(
  folder: string,
): Promise<Pick<S3Server, 'url' | 'keys' | 'close'>> {
  await mkdir(join(folder, bucket), {recursive: true});
  const [port = 0] = await freePorts(1);
  const {AWS_ACCESS_KEY_ID: id, AWS_SECRET_ACCESS_KEY: secret} = checkedKeys;
  const running = startProgram(
    [
      ...['rclone', 'serve', 's3', folder, '--addr', `127.0.0.1:${port}`],
      ...['--auth-key', `${id},${secret}`, '--config', '/dev/null', '--vfs-cache-mode', 'off'],
    ],
    {},
  );
  await running.prints(/Starting s3 server/);
  return {
    url: `http://127.0.0.1:${port}`,
    keys: checkedKeys,
    close: async () => {
      running.process.kill('SIGKILL');
      await running.ended;
    },
  };
}
