// What a delivery needs of the place that it goes to, and what is so of every place. A reader there
// sees whole snapshots alone, and finds the newest one by `latest.json`. Nothing here loads drizzle
// or a client of HTTP, for verbs that run every day load it.

import type {DeliveryCourse, Snapshot} from './snapshot.ts';

/** A place that holds snapshots. One delivery uses it at a time. */
export interface Store {
  /**
   * Removes what a delivery that was cut short has left.
   * @returns an empty folder of this machine, for the files of a snapshot
   */
  begin(): Promise<string>;
  /**
   * Brings a snapshot there, whole or not at all.
   * @param folder - has its files
   */
  publish(folder: string, snapshot: Snapshot, course: DeliveryCourse): Promise<void>;
  /** Lets `latest.json` name a snapshot that is there. */
  pointTo(snapshot: Snapshot): Promise<void>;
  /** The name that `latest.json` has; null where there is none. */
  readLatest(): Promise<string | null>;
  /** Names of the snapshots that are there, the oldest first. */
  list(): Promise<readonly string[]>;
  /** Removes a snapshot; a reader sees it whole or not at all meanwhile. */
  remove(name: string): Promise<void>;
  /** Removes what `begin` has made, and closes connections. */
  end(): Promise<void>;
}

export const latestFile = 'latest.json';

/** The text of `latest.json`. */
export function describeLatest({name, knownAsOf, manifest}: Snapshot): string {
  const latest = {
    snapshot: name,
    manifest: `${name}/${manifest.file}`,
    manifestSha256: manifest.sha256,
    knownAsOf,
  };
  return `${JSON.stringify(latest, null, 2)}\n`;
}

/** The snapshot that a text of `latest.json` names; null where it is none of ours. */
export function nameOfLatest(text: string): string | null {
  try {
    const held: unknown = JSON.parse(text);
    if (typeof held !== 'object' || held === null || !('snapshot' in held)) return null;
    return typeof held.snapshot === 'string' ? held.snapshot : null;
  } catch {
    return null;
  }
}

/** How many snapshots stay at a target. */
export const usualKeep = 30;

/** The region for which requests are signed where none is given. */
export const usualRegion = 'us-east-1';

/** A bucket, and what the names of its objects begin with: '' or `star/`. */
interface Bucket {
  readonly bucket: string;
  readonly prefix: string;
}

/** Reads `s3://BUCKET/PREFIX`. @returns null for any other text */
export function parseBucket(place: string): Bucket | null {
  const [, bucket, path = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w.=-]+)*)\/?$/.exec(place) ?? [];
  // A path of an address knows . and .. as other folders.
  if (bucket === undefined || /(?:^|\/)\.\.?(?:\/|$)/.test(path)) return null;
  return {bucket, prefix: path === '' ? '' : `${path.slice(1)}/`};
}
