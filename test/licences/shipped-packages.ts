// The packages that reach a user: those that npm installs beside the program, on any machine, and
// those whose code is in the program. The lock file names the first, the bundler the second.

import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {build} from 'esbuild';
import {listBundled, options} from '../../esbuild.config.ts';

const root = join(import.meta.dirname, '..', '..');

export interface ShippedPackage {
  readonly name: string;
  readonly version: string;
  /** As the package names it, in SPDX or nearly so. */
  readonly licence: string;
  readonly isBundled: boolean;
}

interface Manifest {
  readonly name?: string;
  readonly version: string;
  readonly license?: string;
  readonly dev?: boolean;
}

/** One entry for each name, version and way, in order of names. */
export async function listShippedPackages(): Promise<ShippedPackage[]> {
  const {metafile} = await build({...options, absWorkingDir: root, write: false});
  const bundled = listBundled(Object.keys(metafile.inputs)).map((folder) => {
    const manifest: Manifest = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
    return toPackage(folder, manifest, true);
  });
  const all = new Map(
    [...listInstalled(), ...bundled].map((entry) => [Object.values(entry).join(' '), entry]),
  );
  return [...all].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry);
}

/** Optional packages of other systems too: the list is the same wherever it is made. */
function listInstalled(): ShippedPackage[] {
  const lock: {readonly packages: Readonly<Record<string, Manifest>>} = JSON.parse(
    readFileSync(join(root, 'package-lock.json'), 'utf8'),
  );
  return Object.entries(lock.packages)
    .filter(([path, {dev}]) => path !== '' && dev !== true)
    .map(([path, manifest]) => toPackage(path, manifest, false));
}

function toPackage(path: string, {version, license}: Manifest, isBundled: boolean): ShippedPackage {
  return {
    name: path.replace(/^.*node_modules\//, ''),
    version,
    licence: license ?? 'none given',
    isBundled,
  };
}
