import {parseAst} from 'vitest/node';

/** Visits each node of the syntax tree of a TypeScript text, and the values in them. */
// biome-ignore lint/suspicious/noExplicitAny: nodes of many shapes are visited as they are
export function visitNodes(text: string, visit: (node: any) => void): void {
  JSON.stringify(parseAst(text, {lang: 'ts'}), (_, node) => {
    visit(node);
    return typeof node === 'bigint' ? String(node) : node;
  });
}
