#!/usr/bin/env -S node --max-semi-space-size=8
// Two things are set before all other code is loaded: the limits of the C library, for which a process may
// begin anew, and the cache in which Node keeps compiled code, so that a short question gets a quick answer.
// The small young generation halves the memory of a first load and costs it a tenth of its speed.

import {enableCompileCache} from 'node:module';
import {fixAllocator} from '../commands/process/allocator.ts';

fixAllocator(process.argv.slice(2));
enableCompileCache();
await import('./run.ts');
