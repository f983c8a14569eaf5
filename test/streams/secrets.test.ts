import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import {isSecret, redactXml} from '../../src/streams/values.ts';
import {cpuMsOf} from '../support/cpu.ts';

const SECRET = 'hunter2';

test.each(
  `token remember-me-token remember_me_token password-digest encrypted_password password-salt
   remember_token remember_me_token_expires_at password api_key apikey api-key ApiKey
   client-secret passwd stripe-customer-id x:token`.split(/\s+/),
)('%s is the name of a secret', (name) => {
  expect(isSecret(name)).toBe(true);
});

test.each(
  'name username key item_id notes description customer_id status api tokyo pas'.split(' '),
)('%s is not the name of a secret', (name) => {
  expect(isSecret(name)).toBe(false);
});

const REDACTED: readonly [string, string, string][] = [
  ['dashed', '<password-salt>hunter2</password-salt>', '<password-salt>[secret]</password-salt>'],
  [
    'underscored',
    '<password_salt>hunter2</password_salt>',
    '<password_salt>[secret]</password_salt>',
  ],
  ['in capitals', '<Token>hunter2</TOKEN>', '<Token>[secret]</TOKEN>'],
  ['typed', '<token type="string">hunter2</token>', '<token type="string">[secret]</token>'],
  ['nil', '<a><token nil="true"/><b>1</b></a>', '<a><token nil="true"/><b>1</b></a>'],
  ['empty', '<token></token><b>1</b>', '<token></token><b>1</b>'],
  [
    'with elements inside',
    '<token><v>hunter2</v></token><b>1</b>',
    '<token>[secret]</token><b>1</b>',
  ],
  [
    'nested in itself',
    '<token><token>x</token>hunter2</token><b>1</b>',
    '<token>[secret]</token><b>1</b>',
  ],
  [
    'in CDATA',
    '<token><![CDATA[</token>hunter2]]></token><b>1</b>',
    '<token>[secret]</token><b>1</b>',
  ],
  [
    'behind a comment',
    '<token><!-- </token> -->hunter2</token><b>1</b>',
    '<token>[secret]</token><b>1</b>',
  ],
  [
    'with a bracket in an attribute',
    '<token a="/>">hunter2</token>',
    '<token a="[secret]">[secret]</token>',
  ],
  [
    'in an attribute',
    '<user api-key="hunter2" id=\'5\'>Ann</user>',
    '<user api-key="[secret]" id=\'5\'>Ann</user>',
  ],
  [
    'in an attribute of a secret',
    '<token value="hunter2"/><b>1</b>',
    '<token value="[secret]"/><b>1</b>',
  ],
  ['cut in the text', '<a>1</a><token>hunt', '<a>1</a><token>[secret]'],
  ['cut in the closing tag', '<token>hunter2</tok', '<token>[secret]'],
  ['cut in the opening tag', '<a>1</a><token value="hunter2', '<a>1</a><token [secret]'],
  ['cut at the front', 'hunter2</token><b>1</b>', '[secret]</token><b>1</b>'],
  ['never closed', '<token>hunter2<b>1</b>', '<token>[secret]'],
  ['closed by another name', '<token>hunter2</tokn></a>', '<token>[secret]'],
  ['with an open quote', '<token a="x>hunter2</token><b>1</b>', '<token [secret]</token><b>1</b>'],
  [
    'behind a stray bracket',
    "<n>5 < 6, it's</n><token>hunter2</token><x>it's</x>",
    "<n>5 < 6, it's</n><token>[secret]</token><x>it's</x>",
  ],
  [
    'behind an ampersand',
    '<n>AT&T</n><token>hunter2</token>',
    '<n>AT&T</n><token>[secret]</token>',
  ],
  ['with a blank before its name', '< token>hunter2</ token>', '< token>[secret]</ token>'],
  [
    'in a comment',
    '<!-- <token>hunter2</token> --><b>1</b>',
    '<!-- <token>[secret]</token> --><b>1</b>',
  ],
];

describe('XML for the quarantine', () => {
  test.each(REDACTED)('shows no secret %s', (_how, xml, expected) => {
    expect(redactXml(xml)).toBe(expected);
  });

  test('is kept unchanged if it has no secret', () => {
    const plain =
      '<?xml version="1.0"?>\n<job>\n  <id type="integer">5</id>\n' +
      '  <note>a &amp; b\r\n</note><![CDATA[ <x> ]]></job>';
    expect(redactXml(plain)).toBe(plain);
    fc.assert(
      fc.property(
        fc.string({unit: fc.constantFrom('<', '>', '/', 'b', ' ', '"', "'", '=', '!', '-')}),
        (xml) => redactXml(xml) === xml,
      ),
    );
  });

  test('shows no secret wherever it is cut', () => {
    const xml =
      '<customer>\n  <name>Ann</name>\n  <remember-me-token type="string">' +
      `${SECRET}</remember-me-token>\n  <city>X</city>\n</customer>`;
    const start = xml.indexOf(SECRET);
    for (let end = 0; end <= xml.length; end++)
      expect(redactXml(xml.slice(0, end))).not.toMatch(/hunter?2?/);
    for (let from = 0; from <= start; from++)
      expect(redactXml(xml.slice(from))).not.toContain(SECRET);
  });

  test('shows no secret, whatever markup is before it', () => {
    const piece = fc.constantFrom(
      '<',
      '>',
      '/',
      '"',
      "'",
      '<a>',
      '</a>',
      '<b x="',
      '<!--',
      '-->',
      '<![CDATA[',
      ']]>',
      '<?',
      '&',
      ' ',
      'text',
      '<token>',
      '</token>',
      '<token/>',
    );
    fc.assert(
      fc.property(fc.array(piece, {maxLength: 8}), (pieces) => {
        expect(redactXml(`${pieces.join('')}<api_token>${SECRET}</api_token>`)).not.toContain(
          SECRET,
        );
      }),
      {numRuns: 3000},
    );
  });

  test('is redacted within seconds, even if it is long and hostile', () => {
    const hostile = [
      '<'.repeat(200_000),
      `<token ${'a'.repeat(200_000)}`,
      '<token>'.repeat(30_000),
      `<${'token='.repeat(30_000)}>`,
    ];
    const redact = () => {
      for (const xml of hostile) redactXml(xml);
    };
    expect(cpuMsOf(redact)).toBeLessThan(5_000);
  });
});
