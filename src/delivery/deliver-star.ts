// The delivery of the star to a target: claimed by a lease, written to a separate folder, published
// whole, and noted. The worker of `start` delivers at the end of each certified night, and
// `deliver` on request. If the target is a folder, a snapshot is written beside the others under a
// hidden name, and renamed.

import {randomUUID} from 'node:crypto';
import {mkdir, open, readdir, readFile, rename, rm} from 'node:fs/promises';
import {join} from 'node:path';
import type pg from 'pg';
import {RetryableError} from '../core/errors.ts';
import {Leases, machineClocks} from '../core/lease.ts';
import type {Logger} from '../core/log.ts';
import {type Pulse, pauseAfter, Rounds} from '../core/pauses.ts';
import {BucketStore, type StorageAccess} from './bucket-store.ts';
import {type DeliveryCourse, isSnapshotName, type Snapshot, takeSnapshot} from './snapshot.ts';
import {describeLatest, latestFile, parseBucket, parseLatest, type Store} from './store.ts';
import {
  type ClaimedTarget,
  claimTarget,
  listDueTargets,
  releaseTarget,
  renewTarget,
  saveDelivered,
  saveUndelivered,
  type TargetSetting,
} from './targets.ts';

const temporaryPrefix = '.part-';

class FolderStore implements Store {
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

const keepFewer = 'make room there, or keep fewer snapshots';

/** A snapshot for a bucket is first written to a folder of this machine. */
function adviseOnRoom({place}: TargetSetting): string {
  return parseBucket(place) === null ? keepFewer : 'make room there, or set TMPDIR to another disk';
}

/** An error of the file system, with the folder and the next step. */
function explainFolder(folder: string, cause: unknown, roomAdvice = keepFewer): unknown {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : null;
  if (code === null || !/^E[A-Z]+$/.test(code)) return cause;
  const nextStep =
    code === 'ENOENT'
      ? 'make the folder above it, or mount it'
      : code === 'ENOSPC' || code === 'EDQUOT'
        ? roomAdvice
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

export interface DeliveryDeps {
  readonly pool: pg.Pool;
  readonly storage: StorageAccess;
  readonly signal: AbortSignal;
  /** Called with the name of each next step. */
  readonly onStep?: (target: string, step: string) => void;
}

/** The result of a delivery. */
export interface Delivered {
  readonly target: string;
  readonly place: string;
  readonly snapshot: Snapshot;
  /** How many old snapshots were removed. */
  readonly removed: number;
  /** Why some could not be removed; null if all were. */
  readonly trouble: string | null;
}

const leaseMs = 60_000;
const backOff = {firstMs: 60_000, longestMs: 3_600_000};

/**
 * A failed delivery. The row of the target has the reason and the time of the next try; a reader of
 * the target sees nothing of it.
 */
interface FailedDelivery {
  readonly error: unknown;
}

/**
 * Delivers one snapshot to a target.
 * @returns null if another process delivers to it, or the warehouse may be a copy
 * @throws the error of the database if not even the failure could be noted; the reason of the
 *   signal
 */
export async function deliverTo(
  deps: DeliveryDeps,
  name: string,
): Promise<Delivered | FailedDelivery | null> {
  const startClocks = machineClocks();
  const target = await claimTarget(deps.pool, name, leaseMs);
  return target === null ? null : await deliverClaimed(deps, target, startClocks);
}

async function deliverClaimed(
  deps: DeliveryDeps,
  target: ClaimedTarget,
  startClocks: readonly number[],
): Promise<Delivered | FailedDelivery> {
  const {pool} = deps;
  const {name} = target;
  let step: string | null = null;
  const onStep = (nextStep: string) => {
    step = nextStep;
    deps.onStep?.(name, nextStep);
  };
  const leases = new Leases<ClaimedTarget>({
    leaseMs,
    clocks: machineClocks,
    renew: (targets) =>
      Promise.all(targets.map((heldTarget) => renewTarget(pool, heldTarget, {leaseMs, step}))),
    toLoss: () => makeLossError(name),
  });
  const {lost} = leases.hold(target, startClocks);
  try {
    const signal = AbortSignal.any([deps.signal, lost]);
    return await deliverSnapshot(deps, target, {signal, onStep});
  } catch (error) {
    await saveFailure(deps, target, error);
    deps.signal.throwIfAborted();
    return {error};
  } finally {
    leases.close();
  }
}

async function saveFailure(
  {pool, signal}: DeliveryDeps,
  target: ClaimedTarget,
  error: unknown,
): Promise<void> {
  if (signal.aborted) return await releaseTarget(pool, target);
  await saveUndelivered(pool, target, {
    error: describeReason(error),
    afterMs: pauseAfter(error, target.attempts, backOff),
  });
}

async function deliverSnapshot(
  {pool, storage}: Pick<DeliveryDeps, 'pool' | 'storage'>,
  target: ClaimedTarget,
  {signal, onStep}: DeliveryCourse,
): Promise<Delivered> {
  const store = openStore(target, storage, signal);
  try {
    const folder = await store.begin();
    const snapshot = await takeSnapshot(pool, folder, {signal, onStep}).catch((error: unknown) => {
      throw explainFolder(folder, error, adviseOnRoom(target));
    });
    await refuseLater(store, target, snapshot);
    await checkLease(pool, target, 'publishing');
    onStep('publishing');
    await store.publish(folder, snapshot, onStep);
    await checkLease(pool, target, 'pointing to it');
    const latest = await updateLatest(store, snapshot);
    const {left, removed, trouble} = await removeOld(store, {keep: target.keep, latest});
    await saveDelivered(pool, target, {snapshot, left, trouble});
    return {target: target.name, place: target.place, snapshot, removed, trouble};
  } finally {
    await store.end();
  }
}

function openStore(target: TargetSetting, storage: StorageAccess, signal: AbortSignal): Store {
  if (parseBucket(target.place) !== null) return new BucketStore(target, storage, signal);
  return new FolderStore(target.place);
}

/**
 * Checks the lease right before something becomes visible: a process that was suspended may be too
 * late.
 */
async function checkLease(pool: pg.Pool, target: ClaimedTarget, step: string): Promise<void> {
  if (await renewTarget(pool, target, {leaseMs, step})) return;
  throw makeLossError(target.name);
}

function makeLossError(name: string): RetryableError {
  return new RetryableError(`${name}: another process delivers to it by now`);
}

/**
 * A snapshot of a time to come would hide each new one from readers, and new ones would be removed
 * as old.
 * @throws {RetryableError} the target has one
 */
async function refuseLater(
  store: Store,
  {name: target}: TargetSetting,
  {name}: Snapshot,
): Promise<void> {
  const latest = await store.readLatest();
  const names = [...(await store.list()), ...(latest === null ? [] : [latest])];
  const laterName = names.find((found) => isSnapshotName(found) && found > name);
  if (laterName === undefined) return;
  throw new RetryableError(
    `${target}: expected only snapshots before ${name}, got ${laterName}; if Postgres' clock was ` +
      `wrong then, remove that snapshot and ${latestFile} there; if it is wrong now, set it`,
  );
}

/**
 * Makes `latest.json` name the snapshot, unless it names a newer one: a process that was too late
 * must not hide that.
 * @returns the name that `latest.json` has from now on
 */
async function updateLatest(store: Store, snapshot: Snapshot): Promise<string> {
  const latest = await store.readLatest();
  if (latest !== null && isSnapshotName(latest) && latest >= snapshot.name) return latest;
  await store.pointTo(snapshot);
  return snapshot.name;
}

interface Removal {
  readonly left: readonly string[];
  readonly removed: number;
  readonly trouble: string | null;
}

/** Keeps the newest snapshots, and the one that `latest.json` names. */
async function removeOld(
  store: Store,
  {keep, latest}: {readonly keep: number; readonly latest: string},
): Promise<Removal> {
  const names = await store.list();
  const oldNames = names
    .slice(0, Math.max(0, names.length - keep))
    .filter((name) => name !== latest);
  const removedNames = new Set<string>();
  const listRemaining = () => names.filter((name) => !removedNames.has(name));
  try {
    for (const name of oldNames) {
      await store.remove(name);
      removedNames.add(name);
    }
    return {left: listRemaining(), removed: removedNames.size, trouble: null};
  } catch (error) {
    return {left: listRemaining(), removed: removedNames.size, trouble: describeReason(error)};
  }
}

const checkEveryMs = 30_000;

/** The part of a worker that delivers each complete night. */
export function makeDeliveryRounds(
  {pool, storage, log}: Pick<DeliveryDeps, 'pool' | 'storage'> & {readonly log: Logger},
  pulse: Pulse,
): Rounds {
  const work = async (signal: AbortSignal) => {
    for (const name of await listDueTargets(pool)) {
      if (signal.aborted) return;
      await deliverToTarget({pool, storage, signal, onStep: () => pulse.good()}, name, log);
      pulse.good();
    }
  };
  const onFailure = (error: unknown) =>
    log.warn(
      {event: 'delivery.check_failed', reason: String(error)},
      'could not check which deliveries are due; trying again',
    );
  return new Rounds({everyMs: checkEveryMs, pulse, work, onFailure});
}

/** Delivers to one target. A failure is noted, and does not hold up other targets. */
async function deliverToTarget(deps: DeliveryDeps, name: string, log: Logger): Promise<void> {
  const startedAt = performance.now();
  const outcome = await deliverTo(deps, name);
  if (outcome === null) return;
  if ('error' in outcome) {
    log.warn(
      {event: 'delivery.failed', target: name, reason: describeReason(outcome.error)},
      `the star was not delivered to ${name}; trying again later`,
    );
    return;
  }
  const {snapshot, removed, trouble} = outcome;
  const {name: snapshotName, rows, bytes, brokenTies} = snapshot;
  const durationMs = Math.round(performance.now() - startedAt);
  const facts = {
    target: name,
    snapshot: snapshotName,
    rows,
    bytes,
    removed,
    brokenTies,
    durationMs,
  };
  log.info(
    {event: 'delivery.delivered', ...facts},
    `snapshot ${snapshotName} delivered to ${name}`,
  );
  if (trouble !== null)
    log.warn(
      {event: 'delivery.not_removed', target: name, reason: trouble},
      'old snapshots could not be removed; the next delivery tries again',
    );
}

function describeReason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
