#!/usr/bin/env -S node --max-semi-space-size=4 --initial-heap-size=36 --heap-growing-percent=50
// Two things are set before all other code is loaded: the limits of the C library, for which a
// process may begin anew, and the cache in which Node keeps compiled code, so that a short question
// gets a quick answer. The small young generation halves the memory of a first load; a heap that
// begins large gives back the speed that this costs.

import {enableCompileCache} from 'node:module';
import {describeMissingPackage, fixAllocator} from './cli/launch.ts';

fixAllocator(process.argv.slice(2));
enableCompileCache();
try {
  const {runProgram} = await import('./cli/program.ts');
  await runProgram();
} catch (error) {
  // Without the reader of the command line nothing else of the program can be loaded.
  const missing = describeMissingPackage(error);
  if (missing === null) throw error;
  const [{tellAside}, {seeKind}] = [
    await import('./core/text.ts'),
    await import('./core/errors.ts'),
  ];
  tellAside(`${missing}\n${seeKind('package')}\n`);
  process.exitCode = 2;
}
