#!/usr/bin/env node
// Three things are set before all other code is loaded: the limits of memory, for which a process
// may begin a second time, the cache in which Node keeps compiled code, and the way to the parts of
// the program. The last two make short verbs quick.

import {enableCompileCache} from 'node:module';
import {describeMissingPackage, findParts, limitMemory, printVersion} from './cli/launch.ts';

const args = process.argv.slice(2);
limitMemory(args);
enableCompileCache();
try {
  if (!printVersion(args)) {
    findParts();
    const {runProgram} = await import('./cli/program.ts');
    await runProgram();
  }
} catch (error) {
  // Without the reader of the command line nothing else of the program can be loaded.
  const missing = describeMissingPackage(error);
  if (missing === null) throw error;
  const [{printErr}, {seeKind}] = [
    await import('./core/text.ts'),
    await import('./core/errors.ts'),
  ];
  printErr(`${missing}\n${seeKind('package')}\n`);
  process.exitCode = 2;
}
