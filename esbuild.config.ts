// The built program, in `dist/`: what an installation runs, because Node strips no types inside
// `node_modules`. Packages go into it, with their licences beside it; those with native parts, and
// those that read files beside themselves, stay outside.

import {existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import {type BuildOptions, build} from 'esbuild';
import manifest from './package.json' with {type: 'json'};

const banner = `// The packages in it, and their licences: LICENCES.txt
// Packages in CommonJS ask for parts of Node by \`require\`.
import {createRequire as makeRequire} from 'node:module';
const require = makeRequire(import.meta.url);`;

export const options = {
  entryPoints: {
    main: 'src/main.ts',
    'page-thread': 'src/sweeps/page-thread.ts',
    'match-thread': 'src/match/match-thread.ts',
  },
  outdir: 'dist',
  bundle: true,
  // A verb's code is a file that is loaded when the verb is called, as in source.
  splitting: true,
  // As `findParts` expects.
  chunkNames: 'part-[hash]',
  format: 'esm',
  platform: 'node',
  target: 'node24',
  external: Object.keys(manifest.dependencies),
  sourcemap: true,
  // A stack names file and line; the text of drizzle's and our source would be two thirds of the
  // package.
  sourcesContent: false,
  banner: {js: banner},
  metafile: true,
  write: false,
  logLevel: 'warning',
} as const satisfies BuildOptions;

/** Folders of the packages whose code is in the program, by what esbuild read. */
export function listBundled(inputs: readonly string[]): string[] {
  const folders = inputs.flatMap(
    (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? [],
  );
  return [...new Set(folders)].toSorted();
}

function readLicence(folder: string): string {
  const {name, version, license} = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const texts = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENCE', 'license', 'NOTICE']
    .map((file) => `${folder}/${file}`)
    .filter(existsSync)
    .map((file) => readFileSync(file, 'utf8').trim());
  return [`${name} ${version}, ${license}`, ...texts, ''].join('\n\n');
}

/**
 * Files that the code reads from beside itself: tables of the reference service, what
 * pages are drawn with.
 */
const besideCode = [
  'src/service/schema.sql',
  'src/console/console.css',
  'src/console/icon.svg',
  'src/console/shortcuts.js',
];

/**
 * A program that starts meanwhile finds its files whole: what is there already is not written
 * again.
 */
function keep(folder: string, files: ReadonlyMap<string, Uint8Array | string>): void {
  mkdirSync(folder, {recursive: true});
  for (const [name, contents] of files) {
    const path = join(folder, name);
    if (!existsSync(path) || !readFileSync(path).equals(Buffer.from(contents)))
      writeFileSync(path, contents);
  }
  for (const name of readdirSync(folder))
    if (!files.has(name)) rmSync(join(folder, name), {recursive: true});
}

if (import.meta.main) {
  const {metafile, outputFiles} = await build(options);
  const licences = listBundled(Object.keys(metafile.inputs)).map(readLicence).join('\n');
  const files = new Map<string, Uint8Array | string>([
    ...outputFiles.map(({path, contents}) => [basename(path), contents] as const),
    ['LICENCES.txt', licences],
    ...besideCode.map((path) => [basename(path), readFileSync(path)] as const),
  ]);
  keep('dist', files);
}
