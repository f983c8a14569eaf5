// Serves prepared pages, in a process of its own: what it costs is not on the account of what is measured.

import {createReadStream, statSync} from 'node:fs';
import {createServer} from 'node:http';
import {join} from 'node:path';

const folder = process.argv[2] ?? '';
const empty = '<?xml version="1.0" encoding="UTF-8"?>\n<jobs type="array"/>\n';

const server = createServer((request, response) => {
  const page = new URL(request.url ?? '/', 'http://localhost').searchParams.get('page') ?? '1';
  const file = join(folder, `${Number(page)}.xml`);
  const size = statSync(file, {throwIfNoEntry: false})?.size;
  response.setHeader('content-type', 'application/xml; charset=utf-8');
  if (size === undefined) return void response.end(empty);
  response.setHeader('content-length', size);
  createReadStream(file, {highWaterMark: 1 << 20}).pipe(response);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.({port: address.port});
});
process.on('disconnect', () => process.exit(0));
