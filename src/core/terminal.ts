// The terminal that a person looks at: how wide it is, and what it understands. A pipe and a file
// have no width, and get each line whole.

import type {WriteStream} from 'node:tty';

/** What of a stream decides; standard output that is no terminal has none of it. */
export type TerminalStream = Partial<Pick<WriteStream, 'isTTY' | 'columns'>>;

/** A terminal that tells no width is as wide as those of old. */
const usualWidth = 80;
/** Narrower ones get lines of this width: a word in each line helps nobody. */
const leastWidth = 40;

/** Columns of a terminal; null for a pipe or a file. */
export function widthOf(stream: TerminalStream): number | null {
  if (stream.isTTY !== true) return null;
  return Math.max(leastWidth, stream.columns || usualWidth);
}

/** Whether something may be drawn in place: a dumb terminal shows the commands as signs. */
export function canDraw(
  stream: TerminalStream,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  return stream.isTTY === true && env.TERM !== 'dumb';
}

/** The lines of a text, none wider than the width, but where a single word is. */
export function fold(text: string, width: number): string {
  return text
    .split('\n')
    .flatMap((line) => foldLine(line, width))
    .join('\n');
}

const isTable = /^[┌├└│]/;
const isCommand = /^\s*(?:fieldmirror|npm|npx|docker|psql) /;

function foldLine(line: string, width: number): string[] {
  if (countColumns(line) <= width || isTable.test(line)) return [line];
  const [, command, remark] = /^(\s*\S.*?) {2,}# (.*)$/.exec(line) ?? [];
  const indent = /^ */.exec(line)?.[0] ?? '';
  if (command !== undefined && remark !== undefined)
    return [
      ...foldLine(command, width),
      ...foldWords(remark, {width, first: `${indent}  # `, next: `${indent}  # `}),
    ];
  const hanging = {width, first: indent, next: `${indent}    `};
  if (!isCommand.test(line)) return foldWords(line.trim(), hanging);
  // A shell takes what is copied in one.
  const lines = foldWords(line.trim(), {...hanging, width: width - 2});
  return lines.map((each, at) => (at === lines.length - 1 ? each : `${each} \\`));
}

/** How a text is broken: the width, and what each line begins with. */
interface Folding {
  readonly width: number;
  readonly first: string;
  readonly next: string;
}

/** Breaks a text where it has blanks; those within a line stay as they are. */
export function foldWords(text: string, {width, first, next}: Folding): string[] {
  const lines: string[] = [];
  let open = first;
  let columns = countColumns(first);
  let isEmpty = true;
  for (const [, blanks = '', word = ''] of text.matchAll(/( *)([^ ]+)/g)) {
    const added = isEmpty ? word : blanks + word;
    const wanted = countColumns(added);
    if (isEmpty || columns + wanted <= width) {
      open += added;
      columns += wanted;
    } else {
      lines.push(open);
      open = next + word;
      columns = countColumns(open);
    }
    isEmpty = false;
  }
  return [...lines, open];
}

const isPlain = /^[ -~]*$/;
const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}]/u;

/** The columns that a text takes: two for a sign of East Asia, none for an accent. */
export function countColumns(text: string): number {
  if (isPlain.test(text)) return text.length;
  let columns = 0;
  for (const sign of text) {
    if (/\p{Mn}/u.test(sign)) continue;
    columns += wide.test(sign) ? 2 : 1;
  }
  return columns;
}
