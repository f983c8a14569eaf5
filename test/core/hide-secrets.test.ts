import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {hideInError, makeHider} from '../../src/core/hide-secrets.ts';
import {eventPages} from '../../src/core/log.ts';
import {Secret} from '../../src/core/secret.ts';
import {cpuMsOf} from '../support/cpu.ts';
import {all, disguises, shows} from './disguises.ts';

const hide = (text: string, ...secrets: string[]) =>
  makeHider(secrets.map((secret) => new Secret(secret)))(text);

/** What a token can be; see toAuthorization. */
const tokens = fc
  .array(fc.integer({min: 0x21, max: 0x7e}), {minLength: 8, maxLength: 40})
  .map((codes) => String.fromCharCode(...codes).replaceAll(':', ';'))
  .filter((text) => new Set(text).size > 3);
const hexTokens = fc.stringMatching(/^[0-9a-f]{40}$/);
const passwords = fc.string({unit: 'grapheme', minLength: 10, maxLength: 30}).filter((text) => {
  const seen = text.replaceAll(/[\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\s]/gu, '');
  return [...seen].length >= 8 && !/[\p{Co}\p{Cn}]/u.test(text);
});

describe('a secret is not shown', () => {
  test.each(all)('%s', (_name, wear) => {
    fc.assert(
      fc.property(fc.oneof(tokens, hexTokens), (secret) => {
        const disguised = wear(secret);
        for (const text of [`got ${disguised} here`, disguised, `x=${disguised}&y`]) {
          const hidden = hide(text, 'another-secret', secret);
          expect(hidden).toContain('[secret]');
          expect(shows(hidden, disguised)).toBe(false);
        }
      }),
      {numRuns: 20},
    );
  });

  test.each(disguises)('%s, if it is a password of any letters', (_name, wear) => {
    fc.assert(
      fc.property(passwords, (secret) => {
        const disguised = wear(secret);
        expect(shows(hide(`got ${disguised} here`, secret), disguised)).toBe(false);
      }),
      {numRuns: 30},
    );
  });

  test('in upper and in lower case, for every letter that has both', () => {
    const letters = Array.from({length: 0x20000}, (_, code) => code)
      .filter((code) => code < 0xd800 || code > 0xdfff)
      .map((code) => String.fromCodePoint(code))
      .filter((letter) => letter.toLowerCase() !== letter.toUpperCase() && !/\p{M}/u.test(letter));
    expect(letters.length).toBeGreaterThan(2_000);
    for (let at = 0; at < letters.length; at += 20) {
      const secret = letters.slice(at, at + 20).join('');
      for (const disguised of [secret.toLowerCase(), secret.toUpperCase()])
        expect(hide(`got ${disguised} here`, secret).replaceAll(/\p{M}/gu, ''), secret).toBe(
          'got [secret] here',
        );
    }
  });

  test('while the text beside it is kept', () => {
    const secret = 'Tok3n/abc+def_1%2;&x';
    for (const [name, wear] of disguises.filter(([name]) => !/base64|Basic/.test(name)))
      expect(hide(`got ${wear(secret)}`, secret), name).toMatch(/^got \[secret\][\u200b\u00ad ]?$/);
    expect(hide(`${secret} and ${secret}`, secret)).toBe('[secret] and [secret]');
  });

  test('if a message was cut after its beginning', () => {
    const secret = 'abcdefghijklmnopqrstuvwxyz';
    expect(hide('got "abcdefghijkl…" here', secret)).toBe('got "[secret]…" here');
    expect(hide(`<${Buffer.from(secret).toString('hex').slice(0, 30)}…>`, secret)).toBe(
      '<[secret]…>',
    );
    expect(hide('it begins with abcdef', secret)).toBe('it begins with [secret]');
    expect(hide('abcdefghijkl is no secret', secret)).toBe('abcdefghijkl is no secret');
  });

  test('in a text of any length', () => {
    const secret = 'Tok3n-abcdefgh';
    for (const before of [0, 262_130, 262_144, 245_755, 700_000]) {
      const text = `${'<a>b</a>'.repeat(100_000).slice(0, before)}${secret}${'.'.repeat(20_000)}`;
      expect(hide(text, secret)).toBe(text.replace(secret, '[secret]'));
    }
  });

  test('in an error, its stack and its causes', () => {
    const error = new Error('outer tok3n-abcdefgh', {cause: new Error('inner tok3n-abcdefgh')});
    expect(hideInError(error, makeHider([new Secret('tok3n-abcdefgh')]))).toBe(error);
    expect(`${error.stack} ${error} ${(error.cause as Error).stack}`).not.toContain('tok3n');
  });
});

describe('ordinary words are kept', () => {
  const words = Object.keys(eventPages).flatMap((event) => event.split(/[._]/));
  const sentences = [
    'GET /customers.xml?page=3 at app.example.com, attempt 1 of 5: ' +
      'expected 200 and XML, got 500 and an HTML page; try again later',
    '{"level":30,"time":1790000000000,"event":"sweep.ended","account":"north","sweep":"41",' +
      '"msg":"customers: certified"}',
    '<customer><name>Anna &amp; Smith</name>' +
      '<created-at type="datetime">2024-05-06T07:08:09-05:00</created-at></customer>',
    words.join(' '),
  ];

  test.each(sentences)('for any secret: %s', (sentence) => {
    fc.assert(
      fc.property(fc.oneof(tokens, hexTokens), (secret) => {
        expect(hide(sentence, secret)).toBe(sentence);
      }),
    );
  });

  test('if a short secret is a part of them', () => {
    expect(hide('the jobs of a jobber, and job 7', 'job')).toBe('the jobs of a jobber, and job 7');
    expect(hide('customers and custom fields', 'custo')).toBe('customers and custom fields');
    expect(hide('Passing passed', 'pass')).toBe('Passing passed');
    for (const none of ['', ' ', 'a', 'abc', '   \t  '])
      expect(hide('a abc   \t  b', none)).toBe('a abc   \t  b');
  });

  test('while a short secret is hidden as a separate word', () => {
    for (const [name, wear] of disguises.filter(([name]) =>
      /as it is|hex|base64|Basic|percent|entities|JSON/.test(name),
    ))
      expect(shows(hide(`got ${wear('pa55&')} here`, 'pa55&'), wear('pa55&')), name).toBe(false);
  });
});

test('a secret of four characters is hidden as a word, and one of three is not hidden', () => {
  expect(hide('pin 7k2x, token long-token, 7k2xy', '7k2x', 'long-token')).toBe(
    'pin [secret], token [secret], 7k2xy',
  );
  expect(hide('pin 7k2, 7k2', '7k2')).toBe('pin 7k2, 7k2');
});

test('hiding 50 secrets in a log line uses less than a millisecond of CPU time', () => {
  const secrets = Array.from(
    {length: 50},
    (_, n) => new Secret(`${n}a1b2c3d4e5f60718293a4b5c6d7e8f9${n}`),
  );
  const hideAll = makeHider(secrets);
  const reason = 'GET /jobs.xml at app.example.com: expected 200, got 500; '.repeat(6);
  const line = `{"level":40,"time":1790000000000,"reason":"${reason}"}\n`;
  const hideMany = () => {
    for (let n = 0; n < 2_000; n++) hideAll(line);
  };
  expect(cpuMsOf(hideMany)).toBeLessThan(2_000);
});

test('hiding a secret in hostile texts uses less than ten seconds of CPU time', () => {
  const hideOne = makeHider([new Secret('a1b2c3d4e5f60718')]);
  const nested = [1, 2, 3, 4].reduce(
    (text) => Buffer.from(text).toString('base64'),
    'aaaaaaaa'.repeat(2_000),
  );
  const texts = [
    '&amp;%26\\\\%2541\\u0026amp; '.repeat(2_000),
    'ab'.repeat(30_000),
    nested,
    '%41'.repeat(20_000),
  ];
  const hideThem = () => {
    for (const text of texts) hideOne(text);
  };
  expect(cpuMsOf(hideThem)).toBeLessThan(10_000);
});
