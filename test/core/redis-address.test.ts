import {inspect} from 'node:util';
import {expect, test} from 'vitest';
import {loadConfig} from '../../src/core/config.ts';
import {parseRedisAddress} from '../../src/core/redis-address.ts';

test('an address of a single Redis is passed on unchanged', () => {
  expect(parseRedisAddress('redis://h/3')).toEqual({kind: 'single', url: 'redis://h/3'});
});

test('cluster servers are read with their ports, or the default port', () => {
  expect(parseRedisAddress('redis-cluster://a.example.com:7001,10.0.0.2,[::1]:7003')).toEqual({
    kind: 'cluster',
    servers: [
      {host: 'a.example.com', port: 7001},
      {host: '10.0.0.2', port: 6379},
      {host: '::1', port: 7003},
    ],
    login: null,
    isTls: false,
  });
});

test('sentinels are read with the name and the database number after them', () => {
  expect(parseRedisAddress('rediss-sentinel://a,b:26380/my%20queue/3')).toMatchObject({
    kind: 'sentinel',
    servers: [
      {host: 'a', port: 26379},
      {host: 'b', port: 26380},
    ],
    isTls: true,
    name: 'my queue',
    database: 3,
    login: null,
    sentinelLogin: null,
  });
  expect(parseRedisAddress('redis-sentinel://a/queue')).toMatchObject({name: 'queue', database: 0});
});

test.each(['redis-cluster://u%40:p%2Fw%3A@h', 'redis-sentinel://u%40:p%2Fw%3A@h/queue'])(
  'user and password of %s are decoded, and the password is not in a dump',
  (text) => {
    const address = parseRedisAddress(text);
    if (address.kind === 'single') throw new Error('one Redis');
    expect(address.login?.user).toBe('u@');
    expect(address.login?.password.reveal()).toBe('p/w:');
    expect(inspect(address, {depth: 9})).not.toContain('p/w');
  },
);

test('sentinels have a separate login, with or without a user', () => {
  const read = (query: string) => {
    const address = parseRedisAddress(`redis-sentinel://:pw@h/queue?${query}`);
    return address.kind === 'sentinel' ? address.sentinelLogin : null;
  };
  expect(read('sentinel_password=a%26b')?.password.reveal()).toBe('a&b');
  expect(read('sentinel_user=watch&sentinel_password=x')?.user).toBe('watch');
});

test.each([
  ['redis-cluster://', 'redis-cluster://user:password@host:port,host:port'],
  ['redis-cluster://h/1', 'without a number'],
  ['redis-cluster://h,', 'host:port,host:port'],
  ['redis-cluster://h:70000', 'host:port,host:port'],
  ['redis-cluster://h:port', 'host:port,host:port'],
  ['redis-cluster://user@h', 'redis-cluster://user:password@'],
  ['redis-cluster://user:canary%zz@h', 'special characters of the password as %40'],
  ['redis-cluster://user:canary/word@h', 'special characters of the password as %40'],
  ['redis-cluster://user:canary@word@h', 'special characters of the password as %40'],
  ['redis-sentinel://h:26379', 'redis-sentinel://user:password@host:port,host:port/NAME'],
  ['redis-sentinel://h/queue/x', '/NAME/number'],
  ['redis-sentinel://h/queue?password=canary', 'sentinel_user=user&sentinel_password=password'],
  ['redis-sentinel://h/queue?sentinel_user=u', 'or the password alone'],
  ['redis-sentinel://h/queue?sentinel_password=canary@x&y=1', 'the login of the sentinels'],
  ['redis-clusters://user:canary@h', 'redis://, redis-cluster:// or redis-sentinel://'],
  ['user:canary@h', 'redis://, redis-cluster:// or redis-sentinel://'],
])('%s is rejected with the expected form, and no password is repeated', (url, words) => {
  const refused = () => loadConfig({REDIS_URL: url});
  expect(refused).toThrow(words);
  expect(refused).toThrow(/^config: REDIS_URL: expected /);
  expect(refused).not.toThrow(/canary|got ".*word@h/);
});

test.each([
  'redis-cluster://u:canary@h:1,h2',
  'rediss-sentinel://u:canary@h/queue/2?sentinel_user=u&sentinel_password=canary',
])('%s is listed in the settings without its password', (url) => {
  const {settings, redisUrl} = loadConfig({REDIS_URL: url});
  expect(redisUrl).toBe(url);
  const shown = settings.find(({name}) => name === 'REDIS_URL')?.value;
  expect(shown).toContain('[secret]');
  expect(shown).not.toContain('canary');
});
