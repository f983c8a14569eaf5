import {inspect} from 'node:util';
import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {FatalError} from '../../src/core/errors.ts';
import {
  markToken,
  parseKeys,
  type Sealed,
  type SealingKey,
  Secret,
  seal,
  unseal,
} from '../../src/core/secret.ts';

const [first, second] = [keyOf(1), keyOf(2)];
const token = new Secret('canary-token');

function keyOf(byte: number): SealingKey {
  const [key] = parseKeys(Buffer.alloc(32, byte).toString('base64'));
  if (key === undefined) throw new Error('no key');
  return key;
}

function refusalOf(sealed: Sealed, keys: readonly SealingKey[], accountId = '7'): string {
  try {
    unseal(sealed, keys, accountId);
  } catch (error) {
    if (error instanceof FatalError) return error.message;
    throw error;
  }
  return '';
}

describe('a seal', () => {
  test('returns any token for its account and key, and does not show it', () => {
    fc.assert(
      fc.property(
        fc.string({minLength: 8, unit: 'grapheme'}),
        fc.bigInt({min: 1n}),
        (text, account) => {
          const sealed = seal(new Secret(text), first, String(account));
          expect(unseal(sealed, [first], String(account)).reveal()).toBe(text);
          expect(sealed.bytes.includes(text)).toBe(false);
        },
      ),
    );
  });

  test('is different each time', () => {
    const seals = Array.from({length: 50}, () => seal(token, first, '7').bytes.toString('hex'));
    expect(new Set(seals).size).toBe(50);
  });

  test('does not open for another account', () => {
    expect(refusalOf(seal(token, first, '7'), [first], '8')).toMatch(
      /damaged, or was made for another account/,
    );
  });

  test('with any bit flipped, or cut at any byte, does not open', () => {
    const {keyId, bytes} = seal(token, first, '7');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const turned = Buffer.from(bytes);
      turned.writeUInt8(turned.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(refusalOf({keyId, bytes: turned}, [first]), `bit ${bit}`).not.toBe('');
    }
    for (let length = 0; length < bytes.length; length++)
      expect(
        refusalOf({keyId, bytes: bytes.subarray(0, length)}, [first]),
        `${length} bytes`,
      ).not.toBe('');
  });

  test('names both keys if its key is missing, and is reported as damaged otherwise', () => {
    const sealed = seal(token, first, '7');
    expect(refusalOf(sealed, [second])).toContain(
      `sealed with key ${first.id}, the key given is ${second.id}; ` +
        'give that key in FIELDMIRROR_KEY',
    );
    expect(refusalOf(sealed, [])).toContain(`sealed with key ${first.id}, no key is given`);
    expect(refusalOf({keyId: second.id, bytes: sealed.bytes}, [second])).toMatch(/damaged/);
  });

  test('of a newer version fails with both versions in the error', () => {
    const {keyId, bytes} = seal(token, first, '7');
    const newer = Buffer.concat([Buffer.of(2), bytes.subarray(1)]);
    expect(refusalOf({keyId, bytes: newer}, [first])).toMatch(/expected version 1, got 2;/);
  });

  test('of version 1 opens as long as the version is supported', () => {
    const bytes = Buffer.from(
      '014a1a3aed8a6cd57471740839c8109b26f6bb5c5c337504579f54211772a19edc67b36785eafbe13f',
      'hex',
    );
    expect(unseal({keyId: '88924e08', bytes}, [first], '7').reveal()).toBe('canary-token');
    expect(seal(token, first, '7').bytes).toHaveLength(bytes.length);
  });

  test('opens with several keys if one of them sealed it', () => {
    for (const key of [first, second])
      expect(unseal(seal(token, key, '7'), [first, second], '7').reveal()).toBe('canary-token');
  });
});

describe('keys', () => {
  test('are read from a list, with or without padding, and have a fingerprint as id', () => {
    const texts = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64'));
    const keys = parseKeys(`${texts[0]}, ${texts[1]?.replace('=', '')}`);
    expect(keys.map(({id}) => id)).toEqual([first.id, second.id]);
    expect(first.id).toMatch(/^[0-9a-f]{8}$/);
  });

  test.each([
    '',
    'short',
    Buffer.alloc(31).toString('base64'),
    Buffer.alloc(33).toString('base64'),
    `${Buffer.alloc(32).toString('base64').slice(0, 40)}!!!=`,
    `${Buffer.alloc(32).toString('base64')}!`,
    Buffer.alloc(32).toString('hex'),
  ])('%j is rejected, alone and as the second key', (text) => {
    expect(() => parseKeys(text)).toThrow('expected 32 bytes in base64 (openssl rand -base64 32)');
    expect(() => parseKeys(`${Buffer.alloc(32).toString('base64')},${text}`)).toThrow('as key 2');
  });

  test('are in no dump', () => {
    const [key] = parseKeys(Buffer.from('canary-canary-canary-canary-cana').toString('base64'));
    expect(inspect(key, {depth: 9, showHidden: true}) + JSON.stringify(key)).not.toMatch(
      /canary|Y2FuYXJ5|63616e/,
    );
  });
});

test('the mark of a token depends on token and salt, and is too short to find the token by', () => {
  const mark = markToken(token, 'worker 1');
  expect(mark).toMatch(/^[0-9a-f]{8}$/);
  expect(markToken(new Secret('canary-token'), 'worker 1')).toBe(mark);
  expect(markToken(new Secret('canary-tokem'), 'worker 1')).not.toBe(mark);
  expect(markToken(token, 'worker 2')).not.toBe(mark);
});
