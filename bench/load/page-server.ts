// Serves prepared pages, and pages of their keys, in a process of its own: its cost is kept out of the
// measurement. It knows no single jobs: the numbers between those of its pages are gaps.

import {
  closeSync,
  createReadStream,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import {createServer, type ServerResponse} from 'node:http';
import {join} from 'node:path';

const [folder = '', how] = process.argv.slice(2);
/** The simplest way, for comparison. */
const isStreaming = how === 'streaming';
const empty = '<?xml version="1.0" encoding="UTF-8"?>\n<jobs type="array"/>\n';

const keyPages = new Map<string, string>();
/** Buffers whose page has been sent: a new one for each page costs more than to read it. */
const idle: Buffer[] = [];

const server = createServer((request, response) => {
  const {pathname, searchParams} = new URL(request.url ?? '/', 'http://localhost');
  if (pathname !== '/jobs.xml') {
    response.writeHead(400, {'content-type': 'application/xml; charset=utf-8'});
    return void response.end('<errors><error>Invalid job.</error></errors>');
  }
  const page = searchParams.get('page') ?? '1';
  const file = join(folder, `${Number(page)}.xml`);
  response.setHeader('content-type', 'application/xml; charset=utf-8');
  if (!existsSync(file)) return void response.end(empty);
  if (searchParams.has('only')) return void response.end(keyPageOf(file));
  if (isStreaming) stream(file, response);
  else send(file, response);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.({port: address.port});
});
process.on('disconnect', () => process.exit(0));

function stream(file: string, response: ServerResponse): void {
  response.setHeader('content-length', statSync(file).size);
  createReadStream(file, {highWaterMark: 1 << 20}).pipe(response);
}

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
