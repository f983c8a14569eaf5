// The built program, in `dist/`: what an installation runs, because Node strips no types inside `node_modules`.
// drizzle goes into it, of which a program needs a small part; all other packages stay outside, where npm keeps their
// licences and their native parts.

import {cpSync, rmSync} from 'node:fs';
import {type BuildOptions, build} from 'esbuild';
import manifest from './package.json' with {type: 'json'};

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
  banner: {js: '// Contains drizzle-orm, Apache-2.0, https://github.com/drizzle-team/drizzle-orm'},
  logLevel: 'warning',
};

rmSync('dist', {recursive: true, force: true});
await build(options);
// The reference service reads it from beside its code.
cpSync('src/service/store/schema.sql', 'dist/schema.sql');
