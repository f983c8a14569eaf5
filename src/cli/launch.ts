// Code that runs before all other code is loaded. It imports only Node's own modules: the packages
// may be missing.

import {registerHooks} from 'node:module';
import {dirname, join} from 'node:path';
import {packageRoot, readVersion} from '../core/package.ts';
import {printOut} from '../core/text.ts';

/** Prints the version if nothing else is requested, without loading the command line parser. */
export function printVersion(args: readonly string[]): boolean {
  const isRequested = args.length === 1 && args[0] === '--version';
  if (isRequested) printOut(`${readVersion()}\n`);
  return isRequested;
}

// Limits keep memory small, but they are read only once, when a process begins. So a process for
// which they matter is started a second time. Other processes do without the limits. With two of
// the flags Node cannot use its own code as it was compiled when Node was built, which costs each
// process 25 ms of CPU.

/**
 * The limits of the C library of Linux, as it reads them from the environment. By default it raises
 * its own limits as large buffers come and go, and then keeps the freed memory. A process that had
 * worked for half an hour held 170 MB that nothing used, and kept growing. With fixed limits large
 * buffers are returned at once.
 */
export const allocatorLimits = {
  MALLOC_ARENA_MAX: '2',
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
} as const;

/**
 * The limits of the heap. The small young generation halves the memory of a first load. The large
 * initial heap restores the speed that this costs. A heap that grows by only half before it is
 * collected takes 30 MB less.
 */
export const heapLimits = [
  '--max-semi-space-size=4',
  '--initial-heap-size=36',
  '--heap-growing-percent=50',
];

/** Verbs that process many rows, or whose processes run for weeks. */
const limitedVerbs: ReadonlySet<string | undefined> = new Set([
  'start',
  'sync',
  'http',
  'service',
  'export',
  'deliver',
]);

/**
 * Replaces the process with the same program under fixed limits, with the same process number.
 * Limits of the C library that are set already stay as they are.
 */
export function limitMemory(args: readonly string[]): void {
  const verb = args.find((word) => !word.startsWith('-'));
  const isLimited = heapLimits.every((flag) => process.execArgv.includes(flag));
  if (isLimited || !limitedVerbs.has(verb) || process.execve === undefined) return;
  const isSet = Object.keys(allocatorLimits).some((name) => process.env[name] !== undefined);
  const newArguments = [
    process.execPath,
    ...process.execArgv,
    ...heapLimits,
    ...process.argv.slice(1),
  ];
  process.execve(process.execPath, newArguments, {
    ...(isSet ? {} : allocatorLimits),
    ...process.env,
  });
}

/**
 * Resolves the parts of the built program, which are beside this file. Without this, Node checks
 * each of some sixty parts for symbolic links and a package.json: a tenth of the CPU of a short
 * verb.
 */
export function findParts(): void {
  const folder = new URL('.', import.meta.url).href;
  registerHooks({
    resolve: (name, context, findByNode) =>
      name.startsWith('./part-') && context.parentURL?.startsWith(folder) === true
        ? {url: folder + name.slice('./'.length), format: 'module', shortCircuit: true}
        : findByNode(name, context),
  });
}

/**
 * Node's message for a package that it finds in no folder `node_modules`; for a missing file of
 * this program Node has another message.
 */
const missingPackagePattern = /^Cannot find (?:package|module) '((?:@[\w.-]+\/)?[\w-][\w.-]*)/;

/**
 * The fix for a package that is not installed; null if the error has another cause.
 * @param root - the folder of `package.json`
 */
export function describeMissingPackage(error: unknown, root = packageRoot): string | null {
  const {code, message = ''} = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return null;
  const [, name] = missingPackagePattern.exec(message) ?? [];
  if (name === undefined) return null;
  const isInstalled = root.split(/[/\\]/).includes('node_modules');
  const nextStep = isInstalled ? 'install fieldmirror again' : `run npm install in ${root}`;
  const place = isInstalled ? dirname(root) : join(root, 'node_modules');
  return `package ${name}: expected it in ${place}, found none; ${nextStep}`;
}
