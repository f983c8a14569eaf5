// The built program, in `dist/`: what an installation runs, because Node strips no types inside
// `node_modules`. Packages go into it, with their licences beside it; those with native parts, and
// those that read files beside themselves, stay outside.

import {existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {basename, join} from 'node:path';
import {type BuildOptions, build} from 'esbuild';
import manifest from './package.json' with {type: 'json'};

/** The line of a file that `takeParts` replaces. */
const partsOfNode = '// Parts of Node.';
const banner = `// The packages in it, and their licences: LICENCES.txt
${partsOfNode}`;

export const options = {
  entryPoints: {
    main: 'src/main.ts',
    'page-reader': 'src/sweeps/page-reader.ts',
    match: 'src/match/match.ts',
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
 * Takes parts of Node by `getBuiltinModule`: an `import` of a part reads all of its exports, also
 * those that Node loads when they are first read. Lines keep their numbers, for the source map.
 * @param text - of a file of the program
 */
export function takeParts(text: string): string {
  const taken: string[] = [];
  const rest = text.replaceAll(
    /^import (?:(\w+)|\{([^}]+)\}) from "(node:[\w/]+)";$/gm,
    (whole, name, names: string | undefined, part) => {
      const bound = names === undefined ? name : `{${names.replaceAll(/\s+as\s+/g, ': ')}}`;
      taken.push(`const ${bound} = getPart("${part}");`.replaceAll(/\s+/g, ' '));
      return whole.replaceAll(/[^\n]/g, '');
    },
  );
  // Packages in CommonJS ask for parts of Node by `require`.
  if (/\brequire\b/.test(rest))
    taken.push('const require = getPart("node:module").createRequire(import.meta.url);');
  if (taken.length > 0) taken.unshift('const getPart = globalThis.process.getBuiltinModule;');
  return rest.replace(partsOfNode, taken.join(' '));
}

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
    ...outputFiles.map(({path, text, contents}) => {
      return [basename(path), path.endsWith('.js') ? takeParts(text) : contents] as const;
    }),
    ['LICENCES.txt', licences],
    ...besideCode.map((path) => [basename(path), readFileSync(path)] as const),
  ]);
  keep('dist', files);
}
