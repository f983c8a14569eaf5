// Serves prepared pages, and pages of their keys, in a process of its own: its cost is kept out of
// the measurement. The numbers between those of its pages are gaps.

import {closeSync, fstatSync, openSync, readFileSync, readSync} from 'node:fs';
import type {ServerResponse} from 'node:http';
import {join} from 'node:path';
import {listPages} from './pages.ts';
import {emptyList, serveJobs, xmlDeclaration} from './serve-jobs.ts';

const [folder = ''] = process.argv.slice(2);
/** Pages of keys by their files, made before the clock runs. */
const keyPages = new Map<string, string>();
for (const file of await listPages(folder))
  keyPages.set(file, makeKeyPage(readFileSync(file, 'utf8')));

/** Buffers whose page has been sent: a new one for each page costs more than to read it. */
const idle: Buffer[] = [];

serveJobs(({page, isOfKeys}, response) => {
  const file = join(folder, `${page}.xml`);
  if (!keyPages.has(file)) response.end(emptyList);
  else if (isOfKeys) response.end(keyPages.get(file));
  else send(file, response);
});

function send(file: string, response: ServerResponse): void {
  const {buffer, size} = readInto(idle.pop() ?? Buffer.allocUnsafeSlow(1 << 20), file);
  response.setHeader('content-length', size);
  response.end(buffer.subarray(0, size), () => idle.push(buffer));
}

/** Reads a file into a buffer, or into a larger one where it does not fit. */
function readInto(given: Buffer, file: string): {buffer: Buffer; size: number} {
  const opened = openSync(file, 'r');
  try {
    const {size} = fstatSync(opened);
    const buffer = size <= given.length ? given : Buffer.allocUnsafeSlow(size);
    readSync(opened, buffer, 0, size, 0);
    return {buffer, size};
  } finally {
    closeSync(opened);
  }
}

/** The numbers of a page and nothing else. */
function makeKeyPage(xml: string): string {
  const found = xml.matchAll(/<job>[\s\S]*?(<job-number[^>]*>\d+<\/job-number>)/g);
  const jobs = [...found].map(([, key]) => `  <job>\n    ${key}\n  </job>\n`);
  return `${xmlDeclaration}<jobs type="array">\n${jobs.join('')}</jobs>\n`;
}
