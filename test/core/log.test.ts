import {expect, test} from 'vitest';
import {createLogger} from '../../src/core/log.ts';
import {Secret} from '../../src/core/secret.ts';

const secret = 'canary token/1';

function linesOf(write: (log: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  const destination = {write: (line: string) => void lines.push(line)};
  write(createLogger({level: 'debug', secrets: [new Secret(secret)], destination}));
  return lines.join('');
}

test.each([
  ['in a message', secret],
  ['as Basic credentials', Buffer.from(`${secret}:${secret}`).toString('base64')],
  ['in a URL', encodeURIComponent(secret)],
])('a known secret %s is replaced in every line', (_, form) => {
  const lines = linesOf((log) => {
    log.info(`sent ${form}`);
    log.error(
      {request: {headers: [{authorization: `Basic ${form}`}]}, reason: `to https://x/?t=${form}`},
      'refused',
    );
  });
  expect(lines).not.toContain(form);
  expect(lines.match(/\[secret\]/g)).toHaveLength(3);
});

test('a secret that is added later is hidden from then on', () => {
  const secrets: Secret[] = [];
  const lines: string[] = [];
  const log = createLogger({
    level: 'info',
    secrets,
    destination: {write: (line) => void lines.push(line)},
  });
  log.info('nothing is known yet');
  secrets.push(new Secret(secret));
  log.info(`sent ${secret}`);
  expect(lines.join('')).not.toContain(secret);
});

test('a Secret object that is logged does not print its value', () => {
  expect(
    linesOf((log) => log.info({token: new Secret('other')}, `${new Secret('other')}`)),
  ).not.toContain('other');
});
