// The ways in which a service, a proxy or a library repeats a text, and the judge of whether one
// still shows it.

const each = (text: string, map: (code: number, character: string) => string) =>
  [...text].map((character) => map(character.codePointAt(0) ?? 0, character)).join('');
const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0');
const bytes = (text: string) => Buffer.from(text);
const percent = (text: string) => [...bytes(text)].map((byte) => `%${hex(byte, 2)}`).join('');

export type Disguise = readonly [name: string, wear: (text: string) => string];

export const disguises: readonly Disguise[] = [
  ['as it is', (text) => text],
  ['in lower case', (text) => text.toLowerCase()],
  ['in upper case', (text) => text.toUpperCase()],
  ['in hex', (text) => bytes(text).toString('hex')],
  ['in hex with colons', (text) => [...bytes(text)].map((byte) => hex(byte, 2)).join(':')],
  ['in base64', (text) => bytes(text).toString('base64')],
  ['as a user in base64', (text) => bytes(`${text}:x`).toString('base64')],
  ['as a password in base64', (text) => bytes(`me:${text}`).toString('base64')],
  ['as Basic credentials', (text) => bytes(`${text}:${text}`).toString('base64')],
  ['in base64url', (text) => bytes(`t=${text}`).toString('base64url')],
  ['percent-encoded where needed', (text) => encodeURIComponent(text)],
  ['percent-encoded', percent],
  [
    'in entities where needed',
    (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;'),
  ],
  ['in decimal entities', (text) => each(text, (code) => `&#${code};`)],
  ['in hexadecimal entities', (text) => each(text, (code) => `&#x${hex(code, 2)};`)],
  ['in JSON', (text) => JSON.stringify(text).slice(1, -1)],
  [
    'in escapes of JSON',
    (text) =>
      [...Array(text.length).keys()].map((at) => `\\u${hex(text.charCodeAt(at), 4)}`).join(''),
  ],
  ['with zero-width characters', (text) => each(text, (_, character) => `${character}\u200b`)],
  ['with soft hyphens', (text) => each(text, (_, character) => `${character}\u00ad`)],
  ['with blanks', (text) => each(text, (_, character) => `${character} `)],
  [
    'in wide letters',
    (text) =>
      each(text, (code, character) =>
        code > 0x20 && code < 0x7f ? String.fromCodePoint(code + 0xfee0) : character,
      ),
  ],
];

/** Each disguise, and each in which a disguised text is disguised again. */
export const all: readonly Disguise[] = disguises.flatMap(([inner, wear]) => [
  [inner, wear] as const,
  ...disguises
    .slice(1)
    .filter(([outer]) => outer !== inner)
    .map(
      ([outer, wearAgain]) =>
        [`${inner}, ${outer}`, (text: string) => wearAgain(wear(text))] as const,
    ),
]);

/**
 * Without what a reader does not see: a line of text, a terminal and JSON may each drop or add some
 * of it.
 */
const bare = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\s\\"]|\\u200b|\\u00ad/gu, '');

/** Whether half of a disguised text can be read in another one. */
export function shows(text: string, disguised: string): boolean {
  const [hay, needle] = [bare(text), bare(disguised)];
  const half = Math.ceil(needle.length / 2);
  for (let at = 0; at + half <= needle.length; at++)
    if (hay.includes(needle.slice(at, at + half))) return true;
  return false;
}
