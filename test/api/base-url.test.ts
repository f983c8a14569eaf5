import {describe, expect, test} from 'vitest';
import {joinPath, parseBaseUrl, toPathPart} from '../../src/api/addresses.ts';
import {createTransport} from '../../src/api/transport.ts';
import {RecordError, UsageError} from '../../src/core/errors.ts';
import {Secret} from '../../src/core/secret.ts';

describe('a base address', () => {
  test.each([
    'https://app.example.com',
    'https://app.example.com/my-slug',
    'https://app.example.com:8443/a/b/',
    'http://localhost:3000',
    'http://127.0.0.1:3000',
    'http://127.1.2.3',
    'http://[::1]:3000',
  ])('may be %s', (text) => {
    expect(parseBaseUrl(text).href).toContain(new URL(text).host);
  });

  test.each([
    ['app.example.com', /expected a URL/],
    ['', /expected a URL/],
    ['http://app.example.com', /expected https/],
    ['http://169.254.169.254', /expected https/],
    ['http://127.0.0.1.evil.example', /expected https/],
    ['http://localhost.evil.example', /expected https/],
    ['file:///etc/passwd', /expected https/],
    ['ftp://app.example.com', /expected https, got ftp:\/\/ to app.example.com;/],
    ['twenty-three-characters://x', /expected https, got twenty-three-charact\/\/ to x;/],
    ['https://tok:tok@app.example.com', /no user name or password/],
    ['https://tok@app.example.com', /no user name or password/],
    ['https://app.example.com/#here', /no fragment/],
    ['https://app.example.com/?token=x', /no query/],
  ])('cannot be %s', (text, words) => {
    expect(() => parseBaseUrl(text)).toThrow(UsageError);
    expect(() => parseBaseUrl(text)).toThrow(words);
    expect(() => parseBaseUrl(text)).toThrow(/^(?!.*tok:tok)(?!.*token=x)/);
  });

  test('may use plain http if allowHttp is set', () => {
    expect(parseBaseUrl('http://app.example.com', {allowHttp: true}).protocol).toBe('http:');
    expect(() => parseBaseUrl('file:///x', {allowHttp: true})).toThrow(UsageError);
  });

  test.each([
    ['https://h.example', '/jobs.xml'],
    ['https://h.example/', '/jobs.xml'],
    ['https://h.example/slug', '/slug/jobs.xml'],
    ['https://h.example/a/b//', '/a/b/jobs.xml'],
  ])('%s keeps its path in front of the resource path', (base, path) => {
    expect(joinPath(new URL(base), '/jobs.xml')).toBe(path);
    expect(joinPath(new URL(base), '/jobs.xml', {page: '2', q: 'a b'})).toBe(
      `${path}?page=2&q=a+b`,
    );
  });
});

test.each(['1', '12', '9223372036854775807'])('the number %s becomes part of a path', (number) => {
  expect(toPathPart(number)).toBe(number);
});

test.each(['', '0', '-1', '01', '1.5', '1/2', '../1', ' 1', '1\n', '10000000000000000000'])(
  'the number %j is refused as part of a path, and the error does not repeat it',
  (number) => {
    expect(() => toPathPart(number)).toThrow(RecordError);
    expect(() => toPathPart(number)).toThrow(/whole number, got something else$/);
  },
);

test.each(['', 'a b', 'a:b', 'a\nb', 'ä', 'a\u0000'])(
  'an invalid token (%j) is rejected, and the error does not repeat it',
  (text) => {
    const open = () =>
      createTransport({baseUrl: 'https://h.example', token: new Secret(`canary${text}`)});
    if (text === '')
      expect(() => createTransport({baseUrl: 'https://h.example', token: new Secret('')})).toThrow(
        UsageError,
      );
    else expect(open).toThrow(/^(?!.*canary)the API token/);
  },
);
