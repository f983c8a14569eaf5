// How things stand: the words for good and bad, and their colours at a terminal. No verb colours
// anything itself: what is printed for a person is coloured here, line by line, once it is folded.

import type {WriteStream} from 'node:tty';
import {styleText} from 'node:util';

/** How a thing stands: well, under way, to be looked at, wrong, or over. */
export type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'quiet';

const tones: Readonly<Record<string, Tone>> = {
  good: 'good',
  certified: 'good',
  refreshed: 'good',
  done: 'good',
  active: 'good',
  running: 'busy',
  due: 'busy',
  pending: 'busy',
  sending: 'busy',
  warning: 'warning',
  held: 'warning',
  paused: 'warning',
  uncertified: 'warning',
  'in doubt': 'warning',
  altered: 'warning',
  bad: 'bad',
  conflict: 'bad',
  rejected: 'bad',
  stopped: 'bad',
  failed: 'bad',
};

/** @param state - of a sweep, a change or an account, or the verdict of a check */
export function toneOf(state: string): Tone {
  return tones[state.replace('_', ' ')] ?? 'quiet';
}

/** What of a stream decides whether it shows colours. */
type ColourStream = Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>;

/** Whether colours are shown: at no pipe, not where `NO_COLOR` is set, at no dumb terminal. */
export function hasColours(
  stream: ColourStream,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  const refuses = (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb';
  return stream.isTTY === true && !refuses && stream.hasColors?.({...env}) === true;
}

const colours = {good: 'green', warning: 'yellow', bad: 'red'} as const;

const word = `(${Object.keys(tones).join('|')})`;
/** A cell of a table that is a state, or begins with one: ` certified 3 h ago `. */
const cell = new RegExp(`^( )${word}(?=[ ,])`);
const lines = [
  // `good     Postgres: …`, as `doctor` prints it.
  /^()(good|warning|bad)(?= +\S.*:)/,
  // `state      conflict: …`, of a change, and of a table on a narrow terminal.
  new RegExp(`^(state {2,}|last full sweep {2,})${word}(?=$|[ ,:])`),
  new RegExp(`^(sweep \\S+ of .*: )${word}$`),
  new RegExp(`^(account \\S+, )${word}(?=$|:)`),
  new RegExp(`^([a-z]+: )${word}(?=, because)`),
];
const sentences: readonly (readonly [RegExp, keyof typeof colours])[] = [
  [/^Nothing (?:needs a person|is wrong that a rule tells of)\.$/, 'good'],
  [/^(?:Needs a person|Open now):$/, 'bad'],
];

/** The lines of a text, with the words for how things stand in their colours. */
export function paint(text: string): string {
  return text.split('\n').map(paintLine).join('\n');
}

function paintLine(line: string): string {
  const [, tone] = sentences.find(([pattern]) => pattern.test(line)) ?? [];
  if (tone !== undefined) return colour(line, tone);
  if (line.startsWith('│'))
    return line
      .split('│')
      .map((each) => each.replace(cell, paintWord))
      .join('│');
  const place = lines.find((pattern) => pattern.test(line));
  return place === undefined ? line : line.replace(place, paintWord);
}

function paintWord(_: string, before: string, state: string): string {
  const tone = toneOf(state);
  return before + (tone === 'busy' || tone === 'quiet' ? state : colour(state, tone));
}

function colour(text: string, tone: keyof typeof colours): string {
  return styleText(colours[tone], text, {validateStream: false});
}
