// The files that pages are drawn with, all from here: a console behind a closed firewall looks the
// same. An address holds the hash of its file, so that a browser keeps it for ever.

import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {dirname, join} from 'node:path';
import type {FastifyInstance} from 'fastify';

interface Asset {
  readonly type: string;
  readonly bytes: Buffer;
  readonly address: string;
}

const htmx = dirname(createRequire(import.meta.url).resolve('htmx.org'));

/**
 * htmx begins as soon as it is there: in a file of its own its extension for events would come too
 * late on a slow machine.
 */
const scripts = [join(htmx, 'htmx.min.js'), join(htmx, 'ext', 'hx-sse.min.js')];

const assets: ReadonlyMap<string, Asset> = new Map(
  (
    [
      ['console.css', 'text/css; charset=utf-8', [join(import.meta.dirname, 'console.css')]],
      ['icon.svg', 'image/svg+xml', [join(import.meta.dirname, 'icon.svg')]],
      ['htmx.js', 'text/javascript; charset=utf-8', scripts],
    ] as const
  ).map(([name, type, paths]) => {
    const bytes = Buffer.from(paths.map((path) => readFileSync(path, 'utf8')).join('\n'));
    const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 12);
    return [name, {type, bytes, address: `/assets/${hash}/${name}`}];
  }),
);

/** The address of a file. */
export function asset(name: string): string {
  const found = assets.get(name);
  if (found === undefined) throw new Error(`asset ${name}: there is none of that name`);
  return found.address;
}

export function addAssets(app: FastifyInstance): void {
  for (const {address, type, bytes} of assets.values()) {
    app.get(address, {config: {isOpen: true}}, async (_request, reply) =>
      reply.header('cache-control', 'public, max-age=31536000, immutable').type(type).send(bytes),
    );
  }
}
