// Nothing is connected to at an address of the link or of a cloud's metadata, however it is written
// or found.

import type {LookupAddress} from 'node:dns';
import {once} from 'node:events';
import {createServer, type LookupFunction} from 'node:net';
import {createServer as createTlsServer} from 'node:tls';
import {SMTPServer} from 'smtp-server';
import {describe, expect, onTestFinished, test} from 'vitest';
import {isRefusedAddress} from '../../src/api/addresses.ts';
import {FatalError} from '../../src/core/errors.ts';
import {Secret} from '../../src/core/secret.ts';
import {
  parseSmtp,
  parseTarget,
  sendEmail,
  sendRequest,
  sendSigned,
  type TransmitOptions,
} from '../../src/feed/receivers.ts';
import {openTransport} from './open-transport.ts';
import {failureOf} from './read-outcome.ts';
import {TEST_CERTIFICATE, TEST_KEY} from './test-certificate.ts';

const refused = [
  '169.254.169.254',
  '169.254.0.1',
  '169.254.170.2',
  '100.100.100.200',
  '192.0.0.192',
  '168.63.129.16',
  'fe80::1',
  'fe80::a9fe:a9fe%eth0',
  'febf::1',
  'fd00:ec2::254',
  'fd00:0ec2:0:0:0:0:0:0254',
  'fd00:ec2:8000::1',
  'fd20:ce::254',
  'fd20:ce:8000::1',
  '::ffff:169.254.169.254',
  '::ffff:a9fe:a9fe',
  '0:0:0:0:0:ffff:a9fe:a9fe',
  '::ffff:0:169.254.169.254',
  '::169.254.169.254',
  '64:ff9b::a9fe:a9fe',
  '64:ff9b::169.254.169.254',
  '64:ff9b:1::a9fe:a9fe',
  '64:ff9b:1:8000::a9fe:a9fe',
  '64:ff9b::6464:64c8',
  '2002:a9fe:a9fe::1',
  '::169.254.0.1',
  '::ffff:0:169.254.0.1',
  '64:ff9b:1::a9fe:1',
  '2002:a9fe:1::1',
];
const allowed = [
  ...[
    '127.0.0.1',
    '10.0.0.5',
    '192.168.1.1',
    '172.16.0.1',
    '8.8.8.8',
    '169.253.255.255',
    '100.100.100.201',
    '192.0.0.191',
  ],
  ...[
    '::1',
    '::',
    'fd00::1',
    'fc00::254',
    'fd00:ec3::1',
    'fd20:cf::1',
    '64:ff9b:2::a9fe:a9fe',
    '2003:a9fe:a9fe::1',
    '1:2:3:4:5:6:7:8',
    '2001:db8::a9fe:a9fe',
    '::ffff:10.0.0.5',
    '64:ff9b::a00:5',
    '2002:a00:5::1',
    'ff02::1',
  ],
  ...['', 'localhost', '2852039166'],
];

test.each(refused)('%s is refused', (address) => expect(isRefusedAddress(address)).toBe(true));
test.each(allowed)('"%s" is not refused', (address) =>
  expect(isRefusedAddress(address)).toBe(false),
);

/** Spellings of 169.254.169.254 as a URL may have them, and of others. */
const spelled = [
  '169.254.169.254',
  '2852039166',
  '0xa9fea9fe',
  '0xA9.0xFE.0xA9.0xFE',
  '025177524776',
  '0251.0376.0251.0376',
  '169.254.43518',
  '169.16689662',
  '１６９.254.169.254',
  '169%2e254%2e169%2e254',
  '169。254。169。254',
  '169.254.169.254.',
  '[::ffff:169.254.169.254]',
  '[::ffff:a9fe:a9fe]',
  '[0:0:0:0:0:FFFF:A9FE:A9FE]',
  '[64:ff9b::a9fe:a9fe]',
  '[2002:a9fe:a9fe::]',
  '[fd00:ec2::254]',
  '[fe80::1]',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
];

const message = {messageId: '1', subject: 'a test', text: 'a test'};

/** All that connects to an address which a person gave. */
const senders: Readonly<Record<string, (host: string, way?: TransmitOptions) => Promise<unknown>>> =
  {
    'an alert or a ping': (host, way) =>
      sendRequest({url: parseTarget(`https://${host}/x`, false), body: '{}', ...way}),
    'one in the clear': (host, way) =>
      sendRequest({url: parseTarget(`http://${host}/x`, true), ...way}),
    'a subscriber': (host, way) =>
      sendSigned(
        {
          url: parseTarget(`https://${host}/x`, false),
          secret: new Secret(`whsec_${'A'.repeat(32)}`),
        },
        {messageId: '1', body: '{}'},
        way,
      ),
    'a server of e-mail': (host, way) =>
      sendEmail(
        {to: 'ops@example.com', server: parseSmtp(`smtp://${host}?from=a@example.com`, true)},
        message,
        way,
      ),
    'a server of e-mail by TLS': (host, way) =>
      sendEmail(
        {to: 'ops@example.com', server: parseSmtp(`smtps://${host}?from=a@example.com`, false)},
        message,
        way,
      ),
    'an account': (host, {lookup, allowsLinkLocal} = {}) =>
      openTransport(`https://${host}`, {
        ...(lookup === undefined ? {} : {lookup}),
        allowLinkLocal: allowsLinkLocal,
      }).read({
        path: '/jobs.xml',
      }),
  };

/** A name server that gives these addresses for every name. */
function saying(...addresses: string[]): LookupFunction {
  const found: LookupAddress[] = addresses.map((address) => ({
    address,
    family: address.includes(':') ? 6 : 4,
  }));
  return (_name, {all}, callback) => {
    if (all === true) callback(null, found);
    else callback(null, found[0]?.address ?? '', found[0]?.family);
  };
}

/** A server of this machine that notes connections, and ends each. */
async function listen(): Promise<{port: number; count: () => number}> {
  let count = 0;
  const server = createServer((socket) => {
    count++;
    socket.on('error', () => {}).destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  return {port: typeof address === 'object' ? (address?.port ?? 0) : 0, count: () => count};
}

describe.each(Object.entries(senders))('%s', (_who, sendTo) => {
  test.each(spelled)('does not connect to the host %s', async (host) => {
    // Only a URL of the web reads percent-encoding and wide letters in a host; elsewhere such a
    // text is no host at all.
    expect((await failureOf(sendTo(host))).message).toMatch(
      /\[ELINKLOCAL\]|expected smtps|ENOTFOUND|EDNS/,
    );
  });

  test.each(['169.254.169.254', '::ffff:a9fe:a9fe', 'fd00:ec2::254', '64:ff9b::a9fe:a9fe'])(
    'does not connect if a name resolves to %s, alone or beside another address',
    async (address) => {
      const {port, count} = await listen();
      for (const lookup of [
        saying(address),
        saying('127.0.0.1', address),
        saying(address, '127.0.0.1'),
      ]) {
        const error = await failureOf(sendTo(`erp.example.com:${port}`, {lookup}));
        expect(error.message).toContain('[ELINKLOCAL]');
      }
      expect(count()).toBe(0);
    },
  );

  test('connects if its name resolves to this machine, or if the setting allows it', async () => {
    const {port, count} = await listen();
    for (const way of [
      {lookup: saying('127.0.0.1')},
      {lookup: saying('127.0.0.1', '169.254.169.254'), allowsLinkLocal: true},
    ]) {
      const before = count();
      const error = await failureOf(sendTo(`erp.example.com:${port}`, way));
      expect(error.message).not.toContain('ELINKLOCAL');
      if (!(way.allowsLinkLocal === true && _who.includes('e-mail')))
        expect(count()).toBeGreaterThan(before);
    }
  });
});

test('an account at a metadata address fails with what to check, and sends no write', async () => {
  const transport = openTransport('https://169.254.169.254/acme');
  const error = await failureOf(transport.read({path: '/jobs.xml'}));
  expect(error).toBeInstanceOf(FatalError);
  expect(error.message).toMatch(
    /cloud's metadata.*nothing was sent: check the address.*FIELDMIRROR_ALLOW_LINK_LOCAL=1/,
  );
  const written = await transport.write({method: 'POST', path: '/jobs.xml', body: '<job/>'});
  expect(written).toMatchObject({
    outcome: 'not-sent',
    reason: expect.stringContaining('[ELINKLOCAL]'),
  });
});

test('a redirect to a metadata address is not followed', async () => {
  const {createServer: createHttpServer} = await import('node:http');
  const server = createHttpServer((_request, response) => {
    response.writeHead(302, {location: 'http://169.254.169.254/latest/meta-data/'}).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const url = new URL(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`);
  expect((await failureOf(sendRequest({url, body: '{}'}))).message).toContain(
    'expected an answer of 2xx, got 302',
  );
});

test('a name of this machine that leads elsewhere gets no mail without TLS', async () => {
  const sent = sendEmail(
    {
      to: 'ops@example.com',
      server: parseSmtp('smtp://me:secret@localhost?from=a@b.example', false),
    },
    message,
    {lookup: saying('127.0.0.1', '192.0.2.1'), allowsLinkLocal: true},
  );
  expect((await failureOf(sent)).message).toBe(
    'localhost: expected it to take the mail, got none [ELOOPBACK]',
  );
});

test('nothing is sent to an e-mail server whose certificate is not trusted', async () => {
  let said = '';
  const server = createTlsServer({cert: TEST_CERTIFICATE, key: TEST_KEY}, (socket) => {
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        said += chunk.toString();
      });
    socket.write('220 mail.example.com ESMTP\r\n');
  });
  server.on('tlsClientError', () => {});
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const url = `smtps://me:secret@localhost:${port}?from=a@example.com`;
  const sent = sendEmail({to: 'ops@example.com', server: parseSmtp(url, false)}, message);
  expect((await failureOf(sent)).message).toMatch(/got none \[(?:ESOCKET|ETLS)\]/);
  expect(said).toBe('');
});

test('a password is not sent in clear to an e-mail server that offers STARTTLS', async () => {
  const users: string[] = [];
  const server = new SMTPServer({
    cert: TEST_CERTIFICATE,
    key: TEST_KEY,
    authOptional: true,
    allowInsecureAuth: true,
    onAuth: ({username = ''}, _session, done) => {
      users.push(username);
      done(null, {user: username});
    },
  });
  server.on('error', () => {});
  const listening = server.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  onTestFinished(() => void server.close());
  const address = listening.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const url = `smtp://me:secret@mail.example.com:${port}?from=a@example.com`;
  const sent = sendEmail({to: 'ops@example.com', server: parseSmtp(url, true)}, message, {
    lookup: saying('127.0.0.1'),
  });
  // Its certificate is not trusted.
  expect((await failureOf(sent)).message).toMatch(/got none \[(?:ESOCKET|ETLS)\]/);
  expect(users).toEqual([]);
});
