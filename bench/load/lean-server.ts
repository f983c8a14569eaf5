// Serves a list of lean jobs, 2 kB each with nothing embedded, and the keys of it: made for each request, so that a
// million take no room; each after so many milliseconds as are asked for. It knows no single jobs, as page-server.ts.

import {createServer} from 'node:http';
import {setTimeout as wait} from 'node:timers/promises';

const [jobCount = 0, latencyMs = 0] = process.argv.slice(2).map(Number);
const perPage = 30;
const xml = '<?xml version="1.0" encoding="UTF-8"?>\n';
const empty = `${xml}<jobs type="array"/>\n`;
const customTexts = Array.from(
  {length: 20},
  (_, at) =>
    `    <custom-text${at + 1}>A gate code, a floor, a part that was ordered</custom-text${at + 1}>\n`,
).join('');

const server = createServer(async (request, response) => {
  if (latencyMs > 0) await wait(latencyMs);
  const {pathname, searchParams} = new URL(request.url ?? '/', 'http://localhost');
  response.setHeader('content-type', 'application/xml; charset=utf-8');
  if (pathname !== '/jobs.xml') {
    response.statusCode = 400;
    return void response.end('<errors><error>Invalid job.</error></errors>');
  }
  const first = (Number(searchParams.get('page') ?? '1') - 1) * perPage + 1;
  const last = Math.min(first + perPage - 1, jobCount);
  if (last < first) return void response.end(empty);
  const make = searchParams.has('only') ? makeKey : makeJob;
  const jobs = Array.from({length: last - first + 1}, (_, at) => make(first + at));
  response.end(`${xml}<jobs type="array">\n${jobs.join('')}</jobs>\n`);
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address === 'object') process.send?.({port: address.port});
});
process.on('disconnect', () => process.exit(0));

function makeKey(number: number): string {
  return `  <job>\n    <job-number type="integer">${number}</job-number>\n  </job>\n`;
}

function makeJob(number: number): string {
  return `  <job>
    <id type="integer">${1_000_000 + number}</id>
    <job-number type="integer">${number}</job-number>
    <customer-id type="integer">${(number % 150_000) + 1}</customer-id>
    <name>Job ${number}</name>
    <created-at type="dateTime">2026-01-05T10:00:00-05:00</created-at>
    <scheduled-on type="dateTime">2026-02-03T08:00:00-05:00</scheduled-on>
    <completed-on type="dateTime" nil="true"/>
    <subtotal type="decimal">${number % 900}.00</subtotal>
${customTexts}  </job>
`;
}
