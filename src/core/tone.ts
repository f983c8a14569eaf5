// The words for good and bad states, and their colours at a terminal. A command marks such words.
// When a text for a person has been folded, its marked words are coloured, if colours are shown.

import type {WriteStream} from 'node:tty';

/** The state of a thing: good, in progress, to be checked, wrong, or anything else. */
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

/** The properties of a stream that decide whether it shows colours. */
type ColourStream = Partial<Pick<WriteStream, 'isTTY' | 'hasColors'>>;

/** Whether colours are shown: not in a pipe, not if `NO_COLOR` is set, not at a dumb terminal. */
export function hasColours(
  stream: ColourStream,
  env: Readonly<Record<string, string | undefined>> = process.env,
): boolean {
  const isRefused = (env.NO_COLOR ?? '') !== '' || env.TERM === 'dumb';
  return stream.isTTY === true && !isRefused && stream.hasColors?.({...env}) === true;
}

/** The tones that have a colour. A mark is a noncharacter of Unicode, so no text needs it. */
const palette: readonly {readonly tone: Tone; readonly mark: string; readonly code: string}[] = [
  {tone: 'good', mark: '\ufdd0', code: '\u001b[32m'},
  {tone: 'warning', mark: '\ufdd1', code: '\u001b[33m'},
  {tone: 'bad', mark: '\ufdd2', code: '\u001b[31m'},
];
const colourEnd = '\u001b[39m';

/**
 * Marks each word of a state, for a text that is printed for a person. So a word that is cut or
 * folded keeps its colour; the marks occupy no columns.
 * @param tone - by default, the tone of the state that the words name
 */
export function inTone(words: string, tone: Tone = toneOf(words)): string {
  const mark = palette.find((entry) => entry.tone === tone)?.mark;
  return mark === undefined ? words : words.replaceAll(/\S+/g, (word) => mark + word);
}

/** The text with the marked words in their colours. */
export function paint(text: string): string {
  let painted = text;
  for (const {mark, code} of palette)
    painted = painted.replaceAll(
      new RegExp(`${mark}([^\\s\\ufdd0-\\ufdd2,:│]+)`, 'g'),
      `${code}$1${colourEnd}`,
    );
  return dropMarks(painted);
}

export function dropMarks(text: string): string {
  return text.replaceAll(/[\ufdd0-\ufdd2]/g, '');
}
