import type {FastifyInstance, FastifyRequest} from 'fastify';
import type {Account} from '../accounts/accounts.ts';
import type {ConsoleDeps} from './console-deps.ts';
import {checkForm} from './guard.ts';
import type {Look} from './look.ts';
import {ownPath} from './own-path.ts';
import {readFields} from './read-fields.ts';
import {viewerOf} from './viewers.ts';

const cookieName = 'fieldmirror_clock';
const yearSeconds = 365 * 24 * 3600;

/**
 * The clock by which times are shown: that of the account, where all that are looked at have one;
 * else, or by choice, UTC.
 */
export function readClock(
  request: FastifyRequest,
  accounts: readonly Account[],
): Pick<Look, 'timeZone' | 'now'> {
  const zones = new Set(accounts.map(({timeZone}) => timeZone));
  const [only] = zones;
  const isUtc = request.cookies[cookieName] === 'utc' || zones.size !== 1 || only === undefined;
  return {timeZone: isUtc ? 'UTC' : only, now: new Date().toISOString()};
}

/** The form at the foot of each page that changes the clock. */
export function addClock(app: FastifyInstance, {known}: Pick<ConsoleDeps, 'known'>): void {
  app.post('/clock', async (request, reply) => {
    const {clock, back, form} = readFields(request.body);
    checkForm(request, {viewer: viewerOf(request), formToken: form, known});
    void reply.setCookie(cookieName, clock === 'utc' ? 'utc' : 'account', {
      path: '/',
      httpOnly: true,
      sameSite: 'strict',
      maxAge: yearSeconds,
    });
    return await reply.redirect(ownPath(back), 303);
  });
}
