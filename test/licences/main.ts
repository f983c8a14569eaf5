// Writes the list of licences anew: npm run licences.

import {writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {formatLicences} from './format-licences.ts';
import {listShippedPackages} from './shipped-packages.ts';

const path = join(import.meta.dirname, '..', '..', 'licences', 'README.md');
writeFileSync(path, formatLicences(await listShippedPackages()));
