// A made-up business behind a proxy that keeps each answer of a list, in a process of its own:
// whoever asks again waits for no rendering.

import {once} from 'node:events';
import type {IncomingHttpHeaders} from 'node:http';
import {buffer} from 'node:stream/consumers';
import {openProxy} from '../../test/support/proxy.ts';
import {startBusiness} from './business.ts';

interface Kept {
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

const [databaseUrl = '', jobs = ''] = process.argv.slice(2);
const list = /^\/[a-z_]+\.xml/;

const service = await startBusiness({databaseUrl, jobs: Number(jobs), compress: true});
const kept = new Map<string, Kept>();
const proxy = await openProxy(service.url, {
  receive: ({path}, response) => {
    const held = kept.get(path);
    if (held === undefined) return false;
    response.writeHead(200, held.headers);
    response.end(held.body);
    return true;
  },
  giveBack: async (answer, response, {path}) => {
    const {statusCode = 502, headers} = answer;
    const body = await buffer(answer);
    if (statusCode === 200 && list.test(path)) kept.set(path, {headers, body});
    response.writeHead(statusCode, headers);
    response.end(body);
  },
});
process.send?.({url: proxy.url, token: service.token});
await once(process, 'disconnect');
process.exit();
