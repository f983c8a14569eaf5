// Builds the documents as a small site: npm run docs. Open site/index.html; no server is needed.

import {join} from 'node:path';
import {buildSite} from './build-site.ts';

const folder = join(import.meta.dirname, '..', '..', 'site');
const pages = await buildSite(folder);
console.log(`${pages.length} pages are in site: open ${join(folder, 'index.html')}`);
