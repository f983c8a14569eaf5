// The interface of the places that deliveries go to, and the parts that all places share. A reader
// of a place sees only whole snapshots, and finds the newest one by `latest.json`. This module
// loads neither drizzle nor an HTTP client, because verbs that run every day load it.

import type {DeliveryCourse, Snapshot} from './snapshot.ts';

/** A place that holds snapshots. One delivery uses it at a time. */
export interface Store {
  /**
   * Removes the remains of a delivery that was cut short.
   * @returns an empty folder of this machine, for the files of a snapshot
   */
  begin(): Promise<string>;
  /**
   * Stores a snapshot, whole or not at all.
   * @param folder - the folder with its files
   */
  publish(folder: string, snapshot: Snapshot, onStep: DeliveryCourse['onStep']): Promise<void>;
  /** Makes `latest.json` name a stored snapshot. */
  pointTo(snapshot: Snapshot): Promise<void>;
  /** Reads the name in `latest.json`; null if there is none. */
  readLatest(): Promise<string | null>;
  /** Names of the stored snapshots, the oldest first. */
  list(): Promise<readonly string[]>;
  /** Removes a snapshot; meanwhile a reader sees it whole or not at all. */
  remove(name: string): Promise<void>;
  /** Removes the folder that `begin` has made, and closes connections. */
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

/** The snapshot that a text of `latest.json` names; null if the text is not one of ours. */
export function parseLatest(text: string): string | null {
  try {
    const content: unknown = JSON.parse(text);
    if (typeof content !== 'object' || content === null || !('snapshot' in content)) return null;
    return typeof content.snapshot === 'string' ? content.snapshot : null;
  } catch {
    return null;
  }
}

/** How many snapshots a target keeps. */
export const defaultKeep = 30;

/** The region for which requests are signed if none is given. */
export const defaultRegion = 'us-east-1';

/** A bucket, and the prefix of the names of its objects: '' or `star/`. */
interface Bucket {
  readonly bucket: string;
  readonly prefix: string;
}

/** Reads `s3://BUCKET/PREFIX`. @returns null for any other text */
export function parseBucket(place: string): Bucket | null {
  const [, bucket, path = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:\/[\w.=-]+)*)\/?$/.exec(place) ?? [];
  // In the path of a URL, . and .. mean other folders.
  if (bucket === undefined || /(?:^|\/)\.\.?(?:\/|$)/.test(path)) return null;
  return {bucket, prefix: path === '' ? '' : `${path.slice(1)}/`};
}
