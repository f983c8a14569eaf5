#!/usr/bin/env node
// Three things are set before all other code is loaded: the limits of memory, the cache in which
// Node keeps compiled code, and the path to the parts of the program. For the limits of memory a
// process may start a second time. The last two make short verbs quick.

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
  // Without the parser of the command line, nothing else of the program can be loaded.
  const message = describeMissingPackage(error);
  if (message === null) throw error;
  const [{printErr}, {seeKind}] = [
    await import('./core/text.ts'),
    await import('./core/errors.ts'),
  ];
  printErr(`${message}\n${seeKind('package')}\n`);
  process.exitCode = 2;
}
