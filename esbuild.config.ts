// The built program, in `dist/`: what an installation runs, because Node strips no types inside `node_modules`.
// Packages of which a program needs a small part go into it, and those that a short verb loads, with their licences beside it;
// all others stay outside, where npm keeps their licences and their native parts.

import {cpSync, existsSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {type BuildOptions, build} from 'esbuild';
import manifest from './package.json' with {type: 'json'};

const banner = `// The packages in it, and their licences: LICENCES.txt
// Packages in CommonJS ask for parts of Node by \`require\`.
import {createRequire as makeRequire} from 'node:module';
const require = makeRequire(import.meta.url);`;

const options: BuildOptions = {
  entryPoints: {main: 'src/program/main.ts', 'page-thread': 'src/sync/load/page-thread.ts'},
  outdir: 'dist',
  bundle: true,
  // A verb's code is a file that is loaded when the verb is called, as in source.
  splitting: true,
  chunkNames: 'part-[hash]',
  format: 'esm',
  platform: 'node',
  target: 'node24',
  external: Object.keys(manifest.dependencies),
  sourcemap: true,
  // A stack names file and line; the text of drizzle's and our source would be two thirds of the package.
  sourcesContent: false,
  banner: {js: banner},
  metafile: true,
  logLevel: 'warning',
};

/** The licences of the packages whose code is in the program. */
function readLicences(inputs: readonly string[]): string {
  const folders = inputs.flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []);
  return [...new Set(folders)].toSorted().map(readLicence).join('\n');
}

function readLicence(folder: string): string {
  const {name, version, license} = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const texts = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENCE', 'license', 'NOTICE']
    .map((file) => `${folder}/${file}`)
    .filter(existsSync)
    .map((file) => readFileSync(file, 'utf8').trim());
  return [`${name} ${version}, ${license}`, ...texts, ''].join('\n\n');
}

rmSync('dist', {recursive: true, force: true});
const {metafile} = await build(options);
writeFileSync('dist/LICENCES.txt', readLicences(Object.keys(metafile?.inputs ?? {})));
// Files that the code reads from beside itself: the reference service's tables, the script for Metabase, and what the console's
// pages are drawn with.
cpSync('src/service/store/schema.sql', 'dist/schema.sql');
cpSync('src/commands/insight/metabase/metabase-setup.mjs', 'dist/metabase-setup.mjs');
for (const name of ['console.css', 'icon.svg']) cpSync(`src/web/console/assets/${name}`, `dist/${name}`);
