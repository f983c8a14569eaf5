import {html, type SafeHtml} from '@remix-run/html-template';

/** How a thing stands: well, under way, to be looked at, wrong, or over. */
export type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'quiet';

const signs: Readonly<Record<Tone, string>> = {
  good: '✓',
  busy: '…',
  warning: '!',
  bad: '✕',
  quiet: '·',
};

/** A word with its sign: colour alone tells nothing. */
export function drawMark(tone: Tone, word: string): SafeHtml {
  return html`<span class="mark ${tone}"><span aria-hidden="true">${signs[tone]}</span> ${word}</span>`;
}

const tones: Readonly<Record<string, Tone>> = {
  certified: 'good',
  refreshed: 'good',
  done: 'good',
  active: 'good',
  running: 'busy',
  due: 'busy',
  pending: 'busy',
  sending: 'busy',
  held: 'warning',
  paused: 'warning',
  uncertified: 'warning',
  in_doubt: 'warning',
  altered: 'warning',
  conflict: 'bad',
  rejected: 'bad',
  stopped: 'bad',
  failed: 'bad',
};

/** The state of a sweep, a change or an account. @param word - where it is called otherwise */
export function drawState(state: string, word = state.replace('_', ' ')): SafeHtml {
  return drawMark(tones[state] ?? 'quiet', word);
}
