// A made-up business behind a proxy that keeps each answer of a list, in a process of its own:
// whoever asks again waits for no rendering. The latest jobs come first, as the service has them.
// A message names a step of a night: its writes are made, and an answer says when all lists are
// kept as they are afterwards.

import {once} from 'node:events';
import type {IncomingHttpHeaders} from 'node:http';
import {buffer} from 'node:stream/consumers';
import {openProxy} from '../../test/support/proxy.ts';
import {withClient} from '../../test/support/with-client.ts';
import {startBusiness} from './business.ts';

/** Writes between two sweeps. */
export type NightStep = 'new' | 'edited' | 'deleted';

interface Kept {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** Headers of the request. */
  readonly asked: IncomingHttpHeaders;
}

const [databaseUrl = '', jobs = ''] = process.argv.slice(2);
const list = /^\/[a-z_]+\.xml/;
const editedShare = 0.01;
const deletedCount = 10;
const atOnce = 4;

const service = await startBusiness({
  databaseUrl,
  jobs: Number(jobs),
  compress: true,
  order: 'reversed',
});
const kept = new Map<string, Kept>();
const proxy = await openProxy(service.url, {
  receive: ({path}, response) => {
    const held = kept.get(path);
    if (held === undefined) return false;
    response.writeHead(200, held.headers);
    response.end(held.body);
    return true;
  },
  giveBack: async (answer, response, {path, headers: asked}) => {
    const {statusCode = 502, headers} = answer;
    const body = await buffer(answer);
    if (statusCode === 200 && list.test(path)) kept.set(path, {headers, body, asked});
    response.writeHead(statusCode, headers);
    response.end(body);
  },
});
let stepCount = 0;
process.on('message', async (step: NightStep) => {
  await live(step);
  await keepAnew();
  process.send?.({step});
});
process.send?.({url: proxy.url, token: service.token});
await once(process, 'disconnect');
process.exit();

async function live(step: NightStep): Promise<void> {
  stepCount++;
  if (step === 'new') {
    await write('POST', '/customers/1/jobs.xml', `<job><name>Call ${stepCount}</name></job>`);
    return;
  }
  const numbers = await listNumbers();
  const count = step === 'edited' ? Math.ceil(numbers.length * editedShare) : deletedCount;
  const every = Math.floor(numbers.length / count);
  const chosen = numbers.filter((_, at) => at % every === stepCount % every).slice(0, count);
  for (const number of chosen)
    await (step === 'edited'
      ? write('PUT', `/jobs/${number}.xml`, `<job><name>Visit ${stepCount}</name></job>`)
      : write('DELETE', `/jobs/${number}.xml`));
}

async function write(method: string, path: string, body?: string): Promise<void> {
  const {status} = await fetch(service.url + path, {
    method,
    headers: {
      authorization: `Basic ${btoa(`${service.token}:${service.token}`)}`,
      'content-type': 'application/xml',
    },
    ...(body === undefined ? {} : {body}),
  });
  if (status !== 200) throw new Error(`${method} ${path} was answered with ${status}`);
}

async function listNumbers(): Promise<string[]> {
  const text = 'SELECT job_number FROM service.jobs WHERE deleted_at IS NULL ORDER BY job_number';
  const {rows} = await withClient(databaseUrl, (client) => client.query(text));
  return rows.map(({job_number}) => String(job_number));
}

/** Asks once more for each answer that was kept. */
async function keepAnew(): Promise<void> {
  const waiting = [...kept].map(([path, {asked}]) => ({path, asked}));
  kept.clear();
  const ask = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const {authorization = '', 'accept-encoding': encoding = ''} = next.asked;
      const headers = {authorization, 'accept-encoding': String(encoding)};
      await (await fetch(proxy.url + next.path, {headers})).arrayBuffer();
    }
  };
  await Promise.all(Array.from({length: atOnce}, ask));
}
