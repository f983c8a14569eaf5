// The blocks of a document that a reader would type in, and their output as the document shows it.

import {globSync} from 'node:fs';
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';

/** A block between two fences. */
export interface Block {
  /** `README.md:120, The past` */
  readonly place: string;
  readonly heading: string;
  /** The words of the opening fence: `sh`, `sql`, or none for output. */
  readonly language: string;
  readonly text: string;
  /** The output that the document shows below it; null when it shows none. */
  readonly shown: string | null;
}

const root = join(import.meta.dirname, '..', '..');

/**
 * Reads every block of the README and of docs/. Later blocks rely on earlier ones, so the documents
 * come in the order in which docs/README.md lists them; documents that it does not list come last.
 */
export async function readBlocks(): Promise<Block[]> {
  const listed = await readOrder();
  const rest = globSync('docs/**/*.md', {cwd: root}).filter((name) => !listed.includes(name));
  const blocks: Block[] = [];
  for (const name of [...listed, ...rest.toSorted()])
    blocks.push(...findBlocks(name, await readFile(join(root, name), 'utf8')));
  return blocks;
}

/** The README, then the documents of the index, whose order alone decides when blocks are tried. */
export async function readOrder(): Promise<string[]> {
  const index = await readFile(join(root, 'docs', 'README.md'), 'utf8');
  const lines = index.match(/^- \[.+$/gm) ?? [];
  const links = lines.flatMap((line) => [...line.matchAll(/\[[^\]]+\]\(([\w-]+\.md)\)/g)]);
  return ['README.md', ...links.map(([, name = '']) => `docs/${name}`)];
}

/** @param name - the document's name, for places */
export function findBlocks(name: string, text: string): Block[] {
  const blocks: Block[] = [];
  let heading = '';
  let open: {language: string; line: number; lines: string[]} | null = null;
  for (const [at, line] of text.split('\n').entries()) {
    if (open === null && line.startsWith('```'))
      open = {language: line.slice(3), line: at + 1, lines: []};
    else if (open !== null && line === '```') {
      const {language, lines} = open;
      const place = `${name}:${open.line}, ${heading}`;
      blocks.push({place, heading, language, text: lines.join('\n'), shown: null});
      open = null;
    } else if (open !== null) open.lines.push(line);
    else if (line.startsWith('#')) heading = line.replace(/^#+ /, '');
  }
  return withOutput(blocks);
}

/**
 * A block without a language is the output of the commands above it under its heading, or stands
 * alone.
 */
function withOutput(blocks: readonly Block[]): Block[] {
  const isOutput = (at: number) => {
    const [above, block] = [blocks[at - 1], blocks[at]];
    return block?.language === '' && above?.language === 'sh' && above.heading === block.heading;
  };
  return blocks.flatMap((block, at) => {
    if (isOutput(at)) return [];
    return [{...block, shown: isOutput(at + 1) ? (blocks[at + 1]?.text ?? null) : null}];
  });
}

/** An SQL statement, its role, and the text of the comment behind it. */
export interface Statement {
  readonly role: string;
  /** Whether the role has changed: a new session begins. */
  readonly isFirst: boolean;
  readonly sql: string;
  readonly said: string | null;
}

/**
 * Cuts a block of SQL into its statements.
 * @throws {Error} a block that does not name its user in the first line: `-- as analyst`
 */
export function readStatements({place, text}: Pick<Block, 'place' | 'text'>): Statement[] {
  const statements: Statement[] = [];
  let role: string | null = null;
  let isFirst = true;
  let sql = '';
  for (const line of text.split('\n')) {
    const [, named] = /^-- as (\w+)$/.exec(line) ?? [];
    if (named !== undefined) {
      role = named;
      isFirst = true;
    } else if (role === null)
      throw new Error(`${place}: expected "-- as ROLE" in its first line, got ${line}`);
    else if (!line.startsWith('--')) {
      sql += `${line}\n`;
      const [end, said = null] = /;(?:\s+-- (.*))?$/.exec(line) ?? [];
      if (end === undefined) continue;
      statements.push({role, isFirst, sql: sql.trim(), said});
      isFirst = false;
      sql = '';
    }
  }
  if (sql.trim() !== '')
    throw new Error(`${place}: expected a semicolon at its end, got ${sql.trim()}`);
  return statements;
}
