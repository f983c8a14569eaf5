// The adversary on a local port, in the observed dialect.

import type {ServerResponse} from 'node:http';
import {gzipSync} from 'node:zlib';
import {listenLocally} from '../support/local-server.ts';
import {list} from '../support/scripted-service.ts';
import type {Adversary, Standing} from './adversary.ts';
import type {Version} from './adversary-history.ts';
import type {Settings} from './adversary-settings.ts';

/** A request that was answered; `keys` is a page of which only some fields were requested. */
export interface Asked {
  readonly kind: 'page' | 'keys' | 'record';
  /** The number of the page, or of the record. */
  readonly number: number;
  /** Records in the answer. */
  readonly records: number;
  readonly tick: number;
}

export interface AdversaryService {
  readonly url: string;
  readonly token: string;
  /** The requests since its last call. */
  takeAsked(): Asked[];
  close(): Promise<void>;
}

const items = {jobs: 'job', customers: 'customer', tasks: 'task'} as const;

export async function serveAdversary(adversary: Adversary): Promise<AdversaryService> {
  let asked: Asked[] = [];
  const pages = new Pages(adversary.settings.resource);
  const {url, close} = await listenLocally((request, response) => {
    adversary.mutate();
    response.setHeader('content-type', 'application/xml; charset=utf-8');
    if (adversary.isFailing()) {
      response.writeHead(503).end();
      return;
    }
    asked.push({
      ...answer(adversary, pages, {path: request.url ?? '', response}),
      tick: adversary.tick,
    });
  });
  return {
    url,
    token: 'adversary',
    takeAsked: () => {
      const taken = asked;
      asked = [];
      return taken;
    },
    close,
  };
}

function answer(
  adversary: Adversary,
  pages: Pages,
  {path, response}: {readonly path: string; readonly response: ServerResponse},
): Omit<Asked, 'tick'> {
  const {resource} = adversary.settings;
  const number = new RegExp(`^/${resource}/(\\d+)\\.xml`).exec(path)?.[1];
  if (number !== undefined) {
    const standing = adversary.show(Number(number));
    if (standing === null) response.writeHead(400).end(pages.unknown());
    else response.end(pages.one(standing));
    return {kind: 'record', number: Number(number), records: standing === null ? 0 : 1};
  }
  const query = new URLSearchParams(path.split('?')[1]);
  const page = Number(query.get('page') ?? 1);
  const only = query.get('only');
  const standing = adversary.page(page);
  const document = only === null ? pages.many(standing) : pages.keys(standing, only.split(','));
  if (adversary.settings.isPacked) sendPacked(document, {response, packedAt: adversary.tick});
  else response.end(document);
  return {kind: only === null ? 'page' : 'keys', number: page, records: standing.length};
}

/** The same document packed again differs in its time, as a service may send it. */
function sendPacked(
  document: string,
  {response, packedAt}: {readonly response: ServerResponse; readonly packedAt: number},
): void {
  const packed = gzipSync(document, {level: 1});
  packed.writeUInt32LE(packedAt, 4);
  response.setHeader('content-encoding', 'gzip');
  response.end(packed);
}

/** Writes documents; each version of a record once. */
class Pages {
  readonly #resource: Settings['resource'];
  readonly #written = new WeakMap<Version, string>();

  constructor(resource: Settings['resource']) {
    this.#resource = resource;
  }

  many(standing: readonly Standing[]): string {
    const item = items[this.#resource];
    return list(
      this.#resource,
      standing.map((record) => `<${item}>${this.#fields(record)}</${item}>`),
    );
  }

  keys(standing: readonly Standing[], only: readonly string[]): string {
    const item = items[this.#resource];
    const keys = (number: number) => this.#numbers(number, only).join('');
    return list(
      this.#resource,
      standing.map(({number}) => `<${item}>${keys(number)}</${item}>`),
    );
  }

  one(standing: Standing): string {
    // A single customer comes under the name of the list, see docs/service.md "Envelopes".
    const root = this.#resource === 'customers' ? 'customers' : items[this.#resource];
    return `<?xml version="1.0" encoding="UTF-8"?>\n<${root}>${this.#fields(standing)}</${root}>\n`;
  }

  unknown(): string {
    const words = `Invalid ${items[this.#resource]}.`;
    return (
      '<?xml version="1.0" encoding="UTF-8"?>\n' +
      `<errors>\n  <error>${words}</error>\n</errors>\n`
    );
  }

  #fields({number, version}: Standing): string {
    const written = this.#written.get(version);
    if (written !== undefined) return written;
    const numbers = this.#numbers(number, ['id', `${items[this.#resource]}_number`]).join('');
    const fields = `${numbers}<name>${version.name}</name>${this.#notes(version)}`;
    this.#written.set(version, fields);
    return fields;
  }

  #numbers(number: number, only: readonly string[]): string[] {
    const item = items[this.#resource];
    const id = item === 'task' ? number : number + 1_000_000;
    const fields = [['id', `<id type="integer">${id}</id>`]];
    if (item !== 'task')
      fields.push([`${item}_number`, `<${item}-number type="integer">${number}</${item}-number>`]);
    return fields.filter(([name = '']) => only.includes(name)).map(([, xml = '']) => xml);
  }

  #notes({notes}: Version): string {
    if (this.#resource === 'tasks') return '';
    const written = notes.map(
      ({id, note}) => `<note><id type="integer">${id}</id><note>${note}</note></note>`,
    );
    return written.length === 0
      ? '<notes type="array"/>'
      : `<notes type="array">${written.join('')}</notes>`;
  }
}
