// A folder as a target: a snapshot is written beside the others under a hidden name, and renamed.

import {randomUUID} from 'node:crypto';
import {mkdir, open, readdir, readFile, rename, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {RetryableError} from '../core/errors.ts';
import {isSnapshotName, type Snapshot} from './snapshot.ts';
import {describeLatest, latestFile, nameOfLatest, type Store} from './store.ts';

const partPrefix = '.part-';

export class FolderStore implements Store {
  readonly #folder: string;
  #part: string | null = null;

  /** @param folder - an absolute path; the folder above it exists */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async begin(): Promise<string> {
    return await this.#explain(async () => {
      await mkdir(this.#folder).catch(ignore('EEXIST'));
      for (const name of await readdir(this.#folder))
        if (name.startsWith(partPrefix)) await this.#discard(name);
      const part = join(this.#folder, `${partPrefix}${randomUUID()}`);
      await mkdir(part);
      this.#part = part;
      return part;
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
      const part = join(this.#folder, `${partPrefix}${latestFile}`);
      const handle = await open(part, 'w');
      try {
        await handle.writeFile(describeLatest(snapshot));
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(part, join(this.#folder, latestFile));
      await syncFolder(this.#folder);
    });
  }

  async readLatest(): Promise<string | null> {
    return await this.#explain(async () => {
      const text = await readFile(join(this.#folder, latestFile), 'utf8').catch(ignore('ENOENT'));
      return text === undefined ? null : nameOfLatest(text);
    });
  }

  async list(): Promise<readonly string[]> {
    return await this.#explain(async () =>
      (await readdir(this.#folder)).filter(isSnapshotName).toSorted(),
    );
  }

  async remove(name: string): Promise<void> {
    const hidden = `${partPrefix}${name}`;
    await this.#explain(async () => {
      await rename(join(this.#folder, name), join(this.#folder, hidden));
      await this.#discard(hidden);
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
  const next =
    code === 'ENOENT'
      ? 'make the folder above it, or mount it'
      : code === 'ENOSPC' || code === 'EDQUOT'
        ? 'make room there, or keep fewer snapshots'
        : 'let the worker write there';
  return new RetryableError(
    `${folder}: expected a folder that can be written, got ${code}; ${next}`,
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

function ignore(code: string) {
  return (error: unknown): undefined => {
    if (error instanceof Error && 'code' in error && error.code === code) return undefined;
    throw error;
  };
}
