import type {FastifyInstance, FastifyReply, FastifyRequest} from 'fastify';
import {type Account, listAccounts} from '../accounts/accounts.ts';
import {checkRole} from './check-role.ts';
import {readClock} from './clock.ts';
import type {ConsoleDeps} from './console-deps.ts';
import {drawDocument} from './draw-layout.ts';
import type {Look} from './look.ts';
import type {Asked, Page} from './page.ts';
import {notThere} from './refused.ts';
import {takeSaid} from './said.ts';
import type {SharedReads} from './shared-reads.ts';
import type {Viewer} from './viewer.ts';
import {viewerOf} from './viewers.ts';

interface PageDeps extends ConsoleDeps {
  readonly readings: SharedReads;
}

/** Serves a page: as HTML, or with `as=json` its story alone. */
export function addPage(app: FastifyInstance, page: Page, deps: PageDeps): void {
  app.get(page.path, async (request, reply) => {
    const viewer = viewerOf(request);
    const {as, ...query} = request.query as Readonly<Record<string, string>>;
    if (page.role !== undefined) checkRole(viewer, page.role, page.section);
    const said = takeSaid(request, reply);
    const isFresh = said !== null;
    // Asked for by each page that is open, at each thing that moves.
    const all = await deps.readings.read('accounts', () => listAccounts(deps.pools.reads), {
      isFresh,
      keptMs: undefined,
    });
    const seen = chooseSeen(viewer, all);
    const accounts = chooseAccounts(seen, query.account);
    const params = request.params as Readonly<Record<string, string>>;
    const seesAll = viewer.accountId === null;
    const {masks} = viewer;
    const asked = {
      db: deps.pools.reads,
      doings: deps.doings,
      seen,
      seesAll,
      accounts,
      params,
      query,
      masks,
    };
    const story = await readStory(page, asked, {viewer, deps, isFresh});
    if (as === 'json')
      return await reply.type('application/json; charset=utf-8').send(JSON.stringify(story));
    const path = pathOf(request);
    const look: Look = {viewer, seen, accounts, path, query, ...readClock(request, accounts)};
    return await send(reply, {page, story, look, asked, said});
  });
}

/** The accounts that a viewer may see. */
export async function readSeen(
  {accountId}: Pick<Viewer, 'accountId'>,
  {pools}: Pick<ConsoleDeps, 'pools'>,
): Promise<readonly Account[]> {
  return chooseSeen({accountId}, await listAccounts(pools.reads));
}

function chooseSeen(
  {accountId}: Pick<Viewer, 'accountId'>,
  accounts: readonly Account[],
): readonly Account[] {
  return accountId === null
    ? accounts
    : accounts.filter((account) => account.accountId === accountId);
}

async function readStory(
  page: Page,
  asked: Asked,
  {
    viewer,
    deps,
    isFresh,
  }: {readonly viewer: Viewer; readonly deps: PageDeps; readonly isFresh: boolean},
): Promise<unknown> {
  const {seen, seesAll, params, query, masks} = asked;
  const key = JSON.stringify([
    page.path,
    params,
    query,
    seesAll,
    masks,
    seen.map(({accountId}) => accountId),
  ]);
  const story = await deps.readings.read(key, () => page.read(asked), {
    isFresh,
    keptMs: page.keptMs,
  });
  return viewer.masks && page.hide !== undefined ? page.hide(story) : story;
}

interface Drawn {
  readonly page: Page;
  readonly story: unknown;
  readonly look: Look;
  readonly asked: Asked;
  readonly said: string | null;
}

async function send(reply: FastifyReply, {page, story, look, asked, said}: Drawn) {
  const drawn = drawDocument({
    title: page.title(story),
    body: page.draw(story, look),
    section: page.section,
    look,
    said,
    elsewhere: page.elsewhere(asked, story),
    live:
      page.moving.length === 0
        ? null
        : `/live?of=${page.moving.join(',')}&since=${Date.parse(look.now)}`,
  });
  return await reply.type('text/html; charset=utf-8').send(drawn);
}

/** The accounts that an address is about. @throws {Refused} there is none of that name */
export function chooseAccounts(
  seen: readonly Account[],
  name: string | undefined,
): readonly Account[] {
  if (name === undefined) return seen;
  const chosen = seen.filter((account) => account.name === name);
  if (chosen.length === 1) return chosen;
  throw notThere(
    `account ${JSON.stringify(name)}`,
    seen.map((account) => ({
      href: `/?account=${encodeURIComponent(account.name)}`,
      label: account.name,
    })),
  );
}

/** The address of the page itself, without the word that asks for JSON. */
function pathOf(request: FastifyRequest): string {
  const [path = '/', search = ''] = request.url.split('?');
  const query = new URLSearchParams(search);
  query.delete('as');
  return query.size === 0 ? path : `${path}?${query}`;
}
