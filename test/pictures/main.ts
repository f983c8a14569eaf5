// Makes the pictures of the README and of docs/console.md, from a demo that runs and in which one
// change was made: npm run pictures -- LINK, where LINK is what `fieldmirror open` prints.

import {statSync} from 'node:fs';
import {join} from 'node:path';
import {openBrowser} from '../support/browser.ts';

const folder = join(import.meta.dirname, '..', '..', 'docs', 'pictures');
const shots = [
  {name: 'overview', path: '/', themes: ['light', 'dark']},
  {name: 'owner', path: '/business/owner', themes: ['light']},
  {name: 'record', path: '/records/jobs/3171', themes: ['light']},
  {name: 'change', path: '/changes/1', themes: ['light']},
] as const;
const mostBytes = 200_000;

const [link = ''] = process.argv.slice(2);
if (!URL.canParse(link)) throw new Error('expected the link that fieldmirror open prints');
const browser = await openBrowser();
const context = await browser.newContext({viewport: {width: 960, height: 600}});
const page = await context.newPage();
await page.goto(link);
let bytes = 0;
for (const {name, path, themes} of shots) {
  for (const colorScheme of themes) {
    await page.emulateMedia({colorScheme});
    await page.goto(new URL(path, link).href);
    const file = join(folder, `${name}-${colorScheme}.jpg`);
    await page.screenshot({path: file, type: 'jpeg', quality: 50});
    bytes += statSync(file).size;
  }
}
await browser.close();
if (bytes > mostBytes)
  throw new Error(`pictures: expected ${mostBytes} bytes together, got ${bytes}`);
console.log(`${bytes} bytes together`);
