// Receivers of alerts: a server of HTTP and one of e-mail, which keep what arrives.

import {EventEmitter, once} from 'node:events';
import {text} from 'node:stream/consumers';
import {SMTPServer} from 'smtp-server';
import {type LocalServer, listenLocally} from './local-server.ts';

/** One message as it came over the wire. */
export interface Arrived {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/**
 * Decides about a message that has arrived: a status to answer with, or nothing for success; at
 * once, or in its own time.
 */
export type Manners = (arrived: Arrived, at: number) => number | undefined | Promise<undefined>;

export interface TestReceiver {
  readonly url: string;
  /** Everything that arrived, taken or not. */
  readonly arrived: readonly Arrived[];
  manners: Manners;
  /** Resolves when so many have arrived. */
  awaitCount(count: number): Promise<void>;
  close(): Promise<void>;
}

class Inbox {
  readonly arrived: Arrived[] = [];
  readonly #comes = new EventEmitter();
  manners: Manners = () => undefined;

  /** @returns the status that the manners say; null for success */
  async take(one: Arrived): Promise<number | null> {
    this.arrived.push(one);
    this.#comes.emit('one');
    return (await this.manners(one, this.arrived.length)) ?? null;
  }

  async awaitCount(count: number): Promise<void> {
    while (this.arrived.length < count) await once(this.#comes, 'one');
  }
}

export async function openHttpReceiver(): Promise<TestReceiver> {
  const inbox = new Inbox();
  const server: LocalServer = await listenLocally(async (request, response) => {
    const body = await text(request);
    const status = await inbox.take({path: request.url ?? '', headers: request.headers, body});
    response
      .writeHead(status ?? 200, status === 302 ? {location: '/elsewhere'} : {})
      .end('an answer');
  });
  return Object.assign(inbox, {url: server.url, close: () => server.close()});
}

/**
 * Of e-mail: an arrived message has the address of its receiver for a path, and its headers by name
 * in lower case.
 */
export async function openMailReceiver(): Promise<TestReceiver> {
  const inbox = new Inbox();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({username, password}, _session, done) =>
      password === 'open sesame' ? done(null, {user: username}) : done(new Error(`no ${password}`)),
    onData: (stream, session, done) => {
      const path = session.envelope.rcptTo.map(({address}) => address).join(', ');
      void text(stream)
        .then((mail) => inbox.take({path, ...readMail(mail)}))
        .then((status) => {
          if (status === null) done();
          else done(Object.assign(new Error('not now'), {responseCode: status}));
        });
    },
  });
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const address = listening.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return Object.assign(inbox, {
    url: `smtp://127.0.0.1:${port}`,
    close: () => new Promise<void>((done) => server.close(() => done())),
  });
}

function readMail(mail: string): Pick<Arrived, 'headers' | 'body'> {
  const [head = '', ...rest] = mail.split('\r\n\r\n');
  const lines = head.replaceAll(/\r\n[ \t]+/g, ' ').split('\r\n');
  const headers = lines.map((line) => {
    const at = line.indexOf(':');
    return [line.slice(0, at).toLowerCase(), line.slice(at + 1).trim()] as const;
  });
  return {headers: Object.fromEntries(headers), body: rest.join('\r\n\r\n')};
}
