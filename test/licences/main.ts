// Writes the list of licences anew: npm run licences.

import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {drawLicences} from './draw-licences.ts';
import {listShippedPackages} from './shipped-packages.ts';

const path = join(import.meta.dirname, '..', '..', 'licences', 'README.md');
writeFileSync(path, drawLicences(await listShippedPackages()));
