// Serves prepared pages, and pages of their keys, in a process of its own: its cost is kept out of the
// measurement. It knows no single jobs: the numbers between those of its pages are gaps.

import {createReadStream, readFileSync, statSync} from 'node:fs';
import {createServer} from 'node:http';
import {join} from 'node:path';

const folder = process.argv[2] ?? '';
const empty = '<?xml version="1.0" encoding="UTF-8"?>\n<jobs type="array"/>\n';

const keyPages = new Map<string, string>();

const server = createServer((request, response) => {
  const {pathname, searchParams} = new URL(request.url ?? '/', 'http://localhost');
  if (pathname !== '/jobs.xml') {
    response.writeHead(400, {'content-type': 'application/xml; charset=utf-8'});
    return void response.end('<errors><error>Invalid job.</error></errors>');
  }
  const page = searchParams.get('page') ?? '1';
  const file = join(folder, `${Number(page)}.xml`);
  const size = statSync(file, {throwIfNoEntry: false})?.size;
  response.setHeader('content-type', 'application/xml; charset=utf-8');
  if (size === undefined) return void response.end(empty);
  if (searchParams.has('only')) return void response.end(keyPageOf(file));
  response.setHeader('content-length', size);
  createReadStream(file, {highWaterMark: 1 << 20}).pipe(response);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.({port: address.port});
});
process.on('disconnect', () => process.exit(0));

/** The numbers of a page and nothing else; made once, then kept. */
function keyPageOf(file: string): string {
  const made = keyPages.get(file) ?? makeKeyPage(readFileSync(file, 'utf8'));
  keyPages.set(file, made);
  return made;
}

function makeKeyPage(xml: string): string {
  const jobs = [...xml.matchAll(/<job>[\s\S]*?(<job-number[^>]*>\d+<\/job-number>)/g)];
  return `<?xml version="1.0" encoding="UTF-8"?>\n<jobs type="array">\n${jobs.map(([, key]) => `  <job>\n    ${key}\n  </job>\n`).join('')}</jobs>\n`;
}
