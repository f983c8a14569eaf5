// A server of e-mail that never ends its answer: each mail has a deadline for the whole.

import {once} from 'node:events';
import {type AddressInfo, createServer} from 'node:net';
import {expect, onTestFinished, test} from 'vitest';
import {parseSmtp, sendEmail} from '../../src/feed/receivers.ts';
import {failureOf} from '../api/read-outcome.ts';

test('a mail ends although the server adds a line to its answer for ever', async () => {
  const server = createServer((socket) => {
    socket.on('error', () => {}).write('220 mail.example.com ESMTP\r\n');
    socket.once('data', () => {
      const timer = setInterval(() => socket.write('250-mail.example.com\r\n'), 5);
      socket.on('close', () => clearInterval(timer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const {port} = server.address() as AddressInfo;
  const sent = sendEmail(
    {
      to: 'ops@example.com',
      server: parseSmtp(`smtp://127.0.0.1:${port}?from=a@example.com`, false),
    },
    {messageId: '0f3c', subject: 'one', text: 'two'},
    {mailDeadlineMs: 200},
  );
  expect((await failureOf(sent)).message).toBe(
    '127.0.0.1: expected it to take the mail, got none [ETIMEDOUT]',
  );
});
