// A folder as a target: a snapshot is written beside the others under a hidden name, and renamed.

import {randomUUID} from 'node:crypto';
import {mkdir, open, readdir, readFile, rename, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {RetryableError} from '../core/errors.ts';
import {isSnapshotName, type Snapshot} from './snapshot.ts';
import {describeLatest, latestFile, parseLatest, type Store} from './store.ts';

const temporaryPrefix = '.part-';

export class FolderStore implements Store {
  readonly #folder: string;
  #part: string | null = null;

  /** @param folder - an absolute path; the folder above it exists */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async begin(): Promise<string> {
    return await this.#explain(async () => {
      await mkdir(this.#folder).catch(ignoreError('EEXIST'));
      for (const name of await readdir(this.#folder))
        if (name.startsWith(temporaryPrefix)) await this.#discard(name);
      const temporaryFolder = join(this.#folder, `${temporaryPrefix}${randomUUID()}`);
      await mkdir(temporaryFolder);
      this.#part = temporaryFolder;
      return temporaryFolder;
    });
  }

  async publish(folder: string, {name}: Snapshot): Promise<void> {
    await this.#explain(async () => {
      await syncFolder(folder);
      await rename(folder, join(this.#folder, name));
      this.#part = null;
      await syncFolder(this.#folder);
    });
  }

  async pointTo(snapshot: Snapshot): Promise<void> {
    await this.#explain(async () => {
      const temporaryFile = join(this.#folder, `${temporaryPrefix}${latestFile}`);
      const handle = await open(temporaryFile, 'w');
      try {
        await handle.writeFile(describeLatest(snapshot));
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporaryFile, join(this.#folder, latestFile));
      await syncFolder(this.#folder);
    });
  }

  async readLatest(): Promise<string | null> {
    return await this.#explain(async () => {
      const text = await readFile(join(this.#folder, latestFile), 'utf8').catch(
        ignoreError('ENOENT'),
      );
      return text === undefined ? null : parseLatest(text);
    });
  }

  async list(): Promise<readonly string[]> {
    return await this.#explain(async () =>
      (await readdir(this.#folder)).filter(isSnapshotName).toSorted(),
    );
  }

  async remove(name: string): Promise<void> {
    const hiddenName = `${temporaryPrefix}${name}`;
    await this.#explain(async () => {
      await rename(join(this.#folder, name), join(this.#folder, hiddenName));
      await this.#discard(hiddenName);
    });
  }

  async end(): Promise<void> {
    if (this.#part !== null) await rm(this.#part, {recursive: true, force: true}).catch(() => {});
  }

  async #discard(name: string): Promise<void> {
    await rm(join(this.#folder, name), {recursive: true, force: true});
  }

  async #explain<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw explainFolder(this.#folder, cause);
    }
  }
}

/** An error of the file system, with the folder and the next step. */
export function explainFolder(folder: string, cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : null;
  if (code === null || !/^E[A-Z]+$/.test(code)) return cause;
  const nextStep =
    code === 'ENOENT'
      ? 'make the folder above it, or mount it'
      : code === 'ENOSPC' || code === 'EDQUOT'
        ? 'make room there, or keep fewer snapshots'
        : 'let the worker write there';
  return new RetryableError(
    `${folder}: expected a folder that can be written, got ${code}; ${nextStep}`,
    {cause},
  );
}

/** A crash of the machine must not leave a name without its files. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ignoreError(code: string) {
  return (error: unknown): undefined => {
    if (error instanceof Error && 'code' in error && error.code === code) return undefined;
    throw error;
  };
}
