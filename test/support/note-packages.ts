// Loaded before the program: notes the packages that its own code imports, a line each, in the file
// that NOTED_PACKAGES names.

import {appendFileSync} from 'node:fs';
import {isBuiltin, registerHooks} from 'node:module';

const file = process.env.NOTED_PACKAGES ?? '';

registerHooks({
  resolve(specifier, context, next) {
    const isOurs = context.parentURL !== undefined && !context.parentURL.includes('/node_modules/');
    const isPackage = !/^(\.|file:)/.test(specifier) && !isBuiltin(specifier);
    if (isOurs && isPackage) appendFileSync(file, `${specifier}\n`);
    return next(specifier, context);
  },
});
