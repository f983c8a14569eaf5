import type {FastifyReply, FastifyRequest} from 'fastify';

const cookieName = 'fieldmirror_said';
const keptSeconds = 60;
const longest = 1_000;

/** Keeps what an action came to for the page that is shown next. */
export function keepSaid(reply: FastifyReply, said: string): void {
  void reply.setCookie(cookieName, said.slice(0, longest), {
    path: '/',
    httpOnly: true,
    sameSite: 'strict',
    maxAge: keptSeconds,
  });
}

/** What the last action came to, once. */
export function takeSaid(request: FastifyRequest, reply: FastifyReply): string | null {
  const said = request.cookies[cookieName];
  if (said === undefined || said === '') return null;
  void reply.clearCookie(cookieName, {path: '/'});
  return said;
}
