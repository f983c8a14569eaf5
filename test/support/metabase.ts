// The part of Metabase's HTTP API that our script uses, as Metabase documents it: it takes no field
// that Metabase does not take, and runs each statement over the connection that it was given. It is
// no Metabase, and draws nothing.

import {once} from 'node:events';
import type {IncomingMessage, ServerResponse} from 'node:http';
import pg from 'pg';
import * as z from 'zod';
import {type LocalServer, listenLocally} from './local-server.ts';

export const adminKey = 'mb_made-up-key';

const id = z.int().positive();
const query = z.strictObject({
  database: id,
  type: z.literal('native'),
  native: z.strictObject({query: z.string().min(1)}),
});
const details = z.looseObject({
  host: z.string(),
  port: z.int(),
  dbname: z.string(),
  user: z.string(),
  password: z.string(),
});
const cardFields = {
  name: z.string().min(1),
  description: z.string().min(1),
  display: z.enum(['table', 'bar', 'line', 'area', 'combo']),
  visualization_settings: z.record(z.string(), z.unknown()),
  dataset_query: query,
};
const about = {name: z.string().min(1), description: z.string().min(1)};
const dashcard = z.strictObject({
  id: z.int(),
  size_x: id,
  size_y: id,
  row: z.int().nonnegative(),
  col: z.int().nonnegative(),
  card_id: id.nullish(),
  action_id: id.nullish(),
  dashboard_tab_id: z.int().nullish(),
  parameter_mappings: z.array(z.looseObject({})).nullish(),
  visualization_settings: z.looseObject({}).nullish(),
  inline_parameters: z.array(z.string()).nullish(),
  series: z.array(z.strictObject({id})).nullish(),
});
const tab = z.strictObject({id: z.int(), name: z.string().min(1)});

/** The body of each request that writes, by method and path; `:id` stands for a number. */
const bodies = {
  'POST /api/database': z.object({name: z.string().min(1), engine: z.literal('postgres'), details}),
  'PUT /api/database/:id': z.object({details}),
  'POST /api/dataset': query,
  'POST /api/collection': z.object(about),
  'POST /api/card': z.strictObject({...cardFields, collection_id: id}),
  'PUT /api/card/:id': z.strictObject(cardFields),
  'POST /api/dashboard': z.strictObject({...about, collection_id: id}),
  'PUT /api/dashboard/:id': z.strictObject({
    ...about,
    dashcards: z.array(dashcard).optional(),
    tabs: z.array(tab).optional(),
  }),
};

type Body<Route extends keyof typeof bodies> = z.infer<(typeof bodies)[Route]>;
type Dashcard = z.infer<typeof dashcard>;

export interface Dashboard extends Body<'POST /api/dashboard'> {
  readonly id: number;
  readonly dashcards: readonly Dashcard[];
  readonly tabs: readonly z.infer<typeof tab>[];
}

export class Metabase {
  readonly databases = new Map<number, Body<'POST /api/database'> & {readonly id: number}>();
  readonly collections = new Map<number, Body<'POST /api/collection'> & {readonly id: number}>();
  readonly cards = new Map<number, Body<'POST /api/card'> & {readonly id: number}>();
  readonly dashboards = new Map<number, Dashboard>();
  /** Method and path of each request, in order. */
  readonly seen: string[] = [];
  /** Answers to come that say that the sync is not complete. */
  syncsToCome = 0;
  #server: LocalServer | null = null;
  #last = 0;

  async open(): Promise<void> {
    this.#server = await listenLocally((request, response) => void this.#answer(request, response));
  }

  get url(): string {
    return this.#server?.url ?? '';
  }

  async close(): Promise<void> {
    await this.#server?.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    request.on('data', (part) => (text += part));
    await once(request, 'end');
    const {method = '', headers} = request;
    const {pathname, searchParams} = new URL(request.url ?? '', this.url);
    this.seen.push(`${method} ${pathname}`);
    if (headers['x-api-key'] !== adminKey)
      return void response.writeHead(401).end('Unauthenticated');
    const [, number = ''] = /\/(\d+)/.exec(pathname) ?? [];
    const route = `${method} ${pathname.replace(/\d+/, ':id')}`;
    const schema = bodies[route as keyof typeof bodies];
    const parsed = schema?.safeParse(JSON.parse(text));
    if (parsed?.success === false)
      return void response.writeHead(400).end(z.prettifyError(parsed.error));
    try {
      const result = await this.#serve(route, Number(number), parsed?.data ?? null, searchParams);
      if (result === undefined) response.writeHead(404).end('Not found.');
      else
        response.writeHead(200, {'content-type': 'application/json'}).end(JSON.stringify(result));
    } catch (error) {
      response.writeHead(400).end(JSON.stringify({message: String(error)}));
    }
  }

  /** @returns undefined where there is no such thing */
  async #serve(
    route: string,
    at: number,
    body: unknown,
    search: URLSearchParams,
  ): Promise<unknown> {
    switch (route) {
      case 'GET /api/database':
        return {data: [...this.databases.values()]};
      case 'POST /api/database': {
        const made = body as Body<'POST /api/database'>;
        await connect(made.details, 'SELECT 1');
        return this.#keep(this.databases, made);
      }
      case 'GET /api/database/:id': {
        const found = this.databases.get(at);
        if (found === undefined) return undefined;
        const status = this.syncsToCome-- > 0 ? 'incomplete' : 'complete';
        return {
          ...found,
          initial_sync_status: status,
          details: {...found.details, password: '**MetabasePass**'},
        };
      }
      case 'PUT /api/database/:id':
        return this.#change(this.databases, at, body as Body<'PUT /api/database/:id'>);
      case 'DELETE /api/database/:id':
        return this.databases.delete(at) ? {} : undefined;
      case 'POST /api/database/:id/sync_schema':
        return this.databases.has(at) ? {status: 'ok'} : undefined;
      case 'POST /api/dataset':
        return await this.run(body as z.infer<typeof query>);
      case 'GET /api/collection':
        return [
          {id: 'root', name: 'Our analytics'},
          ...[...this.collections.values()].map((each) => ({
            ...each,
            location: '/',
            archived: false,
          })),
        ];
      case 'POST /api/collection':
        return this.#keep(this.collections, body as Body<'POST /api/collection'>);
      case 'GET /api/collection/:id/items':
        return {data: this.#listItems(at, search.get('models'))};
      case 'POST /api/card':
        return this.#keep(this.cards, body as Body<'POST /api/card'>);
      case 'PUT /api/card/:id':
        return this.#change(this.cards, at, body as Body<'PUT /api/card/:id'>);
      case 'POST /api/dashboard':
        return this.#keep(this.dashboards, {
          ...(body as Body<'POST /api/dashboard'>),
          dashcards: [],
          tabs: [],
        });
      case 'GET /api/dashboard/:id':
        return this.dashboards.get(at);
      case 'PUT /api/dashboard/:id': {
        const given = body as Body<'PUT /api/dashboard/:id'>;
        return this.#change(this.dashboards, at, {
          ...given,
          ...(given.dashcards === undefined
            ? {}
            : {dashcards: given.dashcards.map((each) => this.#place(each))}),
        });
      }
      default:
        throw new Error(`no ${route}`);
    }
  }

  /** As a question does it. */
  async run({database, native}: z.infer<typeof query>): Promise<unknown> {
    const found = this.databases.get(database);
    if (found === undefined) return undefined;
    try {
      const {rows, fields} = await connect(found.details, native.query);
      return {status: 'completed', data: {rows, cols: fields.map(({name}) => ({name}))}};
    } catch (error) {
      return {status: 'failed', error: error instanceof Error ? error.message : String(error)};
    }
  }

  #keep<Kept extends {readonly id: number}>(
    held: Map<number, Kept>,
    given: Omit<Kept, 'id'>,
  ): Kept {
    const kept = {...given, id: ++this.#last} as Kept;
    held.set(kept.id, kept);
    return kept;
  }

  #change<Kept>(
    held: Map<number, Kept>,
    at: number,
    given: {readonly [Field in keyof Kept]?: Kept[Field] | undefined},
  ): Kept | undefined {
    const found = held.get(at);
    if (found === undefined) return undefined;
    held.set(at, {...found, ...given} as Kept);
    return held.get(at);
  }

  /** A card below zero is a new one; a card that there is not is refused. */
  #place(given: Dashcard): Dashcard {
    if (given.card_id != null && !this.cards.has(given.card_id))
      throw new Error(`no card ${given.card_id}`);
    const placed = {...given, series: given.series ?? []};
    return placed.id < 0 ? {...placed, id: ++this.#last} : placed;
  }

  #listItems(collection: number, model: string | null) {
    const held = model === 'card' ? this.cards : this.dashboards;
    return [...held.values()]
      .filter(({collection_id}) => collection_id === collection)
      .map(({id: item, name, description}) => ({id: item, name, description, model}));
  }
}

/** Runs one statement over a connection of its own. */
async function connect(
  {host, port, dbname: database, user, password}: z.infer<typeof details>,
  text: string,
): Promise<pg.QueryArrayResult> {
  const client = new pg.Client({host, port, database, user, password});
  await client.connect();
  try {
    return await client.query({text, rowMode: 'array'});
  } finally {
    await client.end();
  }
}
