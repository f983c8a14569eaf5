import {UsageError} from '../core/errors.ts';
import {findPage, listDocuments, readDocument} from '../core/package.ts';
import {print} from './report.ts';

/**
 * Prints the page of an error or of an alert. Nothing but the documents is needed.
 * @param number - as messages end with it: `E07`
 * @returns the exit code
 * @throws {UsageError} no such page
 */
export function explainPage(number: string, {json}: {readonly json: boolean}): number {
  const path = findPage(number);
  if (path === null) throw new UsageError(`explain: no page ${number}; there are ${listNumbers()}`);
  const text = readDocument(path).trim();
  print(json, {json: {page: path, text}, text: toPlain(text)});
  return 0;
}

function listNumbers(): string {
  const numbers = listDocuments().flatMap((path) => /\/([EA]\d\d)$/.exec(path)?.[1] ?? []);
  const ofKind = (kind: string) => numbers.filter((one) => one.startsWith(kind));
  return ['E', 'A'].map((kind) => `${ofKind(kind)[0]} to ${ofKind(kind).at(-1)}`).join(', ');
}

/**
 * A terminal shows no links: of one to another page its number is left, of one to a document its
 * name.
 */
function toPlain(markdown: string): string {
  return markdown.replaceAll(/\[([^\]]+)\]\(([^)]+)\)/g, (_, text: string, href: string) => {
    const name = /([\w-]+\.md)/.exec(href)?.[1];
    return name === undefined || text === name || `${text}.md` === name
      ? text
      : `${text} (docs: ${name})`;
  });
}
