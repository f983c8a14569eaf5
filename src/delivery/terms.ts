// What is so of every target; without drizzle, which nothing loads that runs every day.

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
