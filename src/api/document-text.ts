import {isUtf8} from 'node:buffer';
import {shorten} from '../core/text.ts';

/**
 * Why bytes are not the text of an XML document; the reader turns it into an error that names the
 * request.
 */
export class NotText extends Error {
  override readonly name: string = 'NotText';
}

/** The document says an encoding that this client does not read: it will say it again. */
export class UnknownEncoding extends NotText {
  override readonly name = 'UnknownEncoding';
}

/**
 * Turns the bytes of a document into its text, by RFC 7303: by byte order mark, else by the charset
 * of the answer's `Content-Type`, else by its XML declaration, else as UTF-8. Never guesses and
 * never replaces: bytes that the encoding does not have are refused, because U+FFFD in a name would
 * be written back to the service one day.
 * @param contentType - the header as sent; null where there was none
 * @throws {NotText} an unknown encoding, or bytes that are not of it
 * @see docs/traps.md "The XML parser"
 */
export function decodeText(body: Buffer, contentType: string | null): string {
  if (startsWith(body, 0xef, 0xbb, 0xbf)) return decodeUtf8(body.subarray(3));
  if (startsWith(body, 0xff, 0xfe)) return decodeBy('utf-16le', body);
  if (startsWith(body, 0xfe, 0xff)) return decodeBy('utf-16be', body);
  if (startsWith(body, 0x3c, 0x00)) return decodeBy('utf-16le', body);
  if (startsWith(body, 0x00, 0x3c)) return decodeBy('utf-16be', body);
  const label = (findCharset(contentType) ?? findDeclared(body) ?? 'utf-8').toLowerCase();
  return label === 'utf-8' || label === 'utf8' ? decodeUtf8(body) : decodeSingleByte(label, body);
}

function startsWith(body: Buffer, ...bytes: readonly number[]): boolean {
  return bytes.every((byte, at) => body[at] === byte);
}

function decodeUtf8(body: Buffer): string {
  if (!isUtf8(body)) throw new NotText('bytes that are not UTF-8');
  return body.toString('utf8');
}

function decodeBy(label: string, body: Buffer): string {
  try {
    return new TextDecoder(label, {fatal: true}).decode(body);
  } catch {
    throw new NotText(`bytes that are not ${label.toUpperCase()}`);
  }
}

// WHATWG reads "iso-8859-1" as windows-1252; Node's latin1 is the real one, byte for byte.
function decodeSingleByte(label: string, body: Buffer): string {
  if (label === 'iso-8859-1' || label === 'latin1') return body.toString('latin1');
  if (label === 'us-ascii' || label === 'ascii') return decodeAscii(body);
  if (/^(?:iso-8859-(?:[2-9]|1[0-6])|windows-125[0-8])$/.test(label)) return decodeBy(label, body);
  throw new UnknownEncoding(
    `the encoding "${shorten(label, 40)}", which this client does not read`,
  );
}

function decodeAscii(body: Buffer): string {
  if (body.some((byte) => byte > 0x7f)) throw new NotText('bytes that are not US-ASCII');
  return body.toString('latin1');
}

function findDeclared(body: Buffer): string | null {
  const head = body.toString('latin1', 0, 200);
  const declaration = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']/.exec(head);
  return declaration?.[1] ?? null;
}

/**
 * Whether the header leaves a document to be read as UTF-8 by those who look at its bytes alone.
 */
export function saysUtf8(contentType: string | null): boolean {
  return /^utf-?8$/i.test(findCharset(contentType) ?? 'utf-8');
}

function findCharset(contentType: string | null): string | null {
  return /;\s*charset\s*=\s*["']?([A-Za-z0-9._-]+)/i.exec(contentType ?? '')?.[1] ?? null;
}
