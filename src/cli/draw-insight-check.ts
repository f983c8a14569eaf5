// How `check` looks. Claims are sentences: they are lines that break, for a table of them is wider
// than a terminal.

import {formatNumber} from '../core/format.ts';
import {wrap} from './wrap-text.ts';

/** A claim, and how many rows break it. */
export interface Tie {
  readonly name: string;
  readonly claim: string;
  readonly broken: number;
}

/** A thing that a person may want to look at. */
export interface Found {
  readonly name: string;
  readonly words: string;
  readonly count: number;
  readonly first: readonly string[];
}

export function drawChecked(ties: readonly Tie[], found: readonly Found[]): string {
  const holding = ties.filter(({broken}) => broken === 0).length;
  return [
    `Tie-outs: ${holding === ties.length ? `all ${holding} hold` : `${holding} of ${ties.length} hold`}`,
    ...drawLines(ties.map(({name, broken, claim}) => [name, tellTie(broken), claim])),
    '',
    'Findings, which are about the business and no failure:',
    ...drawLines(
      found.map(({name, count, words, first}) => [
        name,
        tellCount(count, 'once', 'times'),
        first.length === 0 ? words : `${words} As in ${first.join('; ')}`,
      ]),
    ),
  ].join('\n');
}

function tellTie(broken: number): string {
  return broken === 0 ? 'holds' : `broken by ${tellCount(broken, '1 row', 'rows')}`;
}

function tellCount(count: number, one: string, many: string): string {
  if (count === 0) return 'none';
  return count === 1 ? one : `${formatNumber(count)} ${many}`;
}

type Line = readonly [name: string, state: string, text: string];

/** Names and states stand under each other, and so does what goes on in a further line. */
function drawLines(lines: readonly Line[]): string[] {
  const names = Math.max(...lines.map(([name]) => name.length));
  const states = Math.max(...lines.map(([, state]) => state.length));
  return lines.map(([name, state, text]) =>
    wrap(`  ${name.padEnd(names)}  ${state.padEnd(states)}  ${text}`, names + states + 4),
  );
}
