// Pages broken at random: the fixture of what a reader must refuse, spoil or read, and never guess.

import {makeJobPage} from './job-page.ts';

/** A page of jobs, so small that one mutation often hits structure. */
export function makeFixture(dialect: 'observed' | 'documented'): string {
  const page = makeJobPage({jobs: 3, dialect}).toString();
  const long = /\s+<(custom|sales|estimate|invoice|recurring)[-_][^\n]*(?:\n[^ <][^\n]*)*/g;
  return page.replaceAll('\r\n', '\n').replaceAll(long, '');
}

/**
 * The text with one mutation or several.
 * @param seed - finds them again
 * @param pieces - what is put into it, beside what stands in it
 */
export function mutate(text: string, seed: number, pieces: readonly string[] = []): string {
  const random = makeRandom(seed);
  const all = [...PIECES, ...pieces];
  let mutated = mutateOnce(text, random, all);
  while (random() < 0.3) mutated = mutateOnce(mutated, random, all);
  // Half an emoji is no text that bytes can carry.
  return mutated.toWellFormed();
}

// A random generator of its own, so that the number of a failure finds it again.
function makeRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

const PIECES: readonly string[] = [
  '<',
  '>',
  '/',
  '&',
  ';',
  '"',
  '=',
  ' ',
  '</job>',
  '<job>',
  '</jobs>',
  '<a/>',
  '<a>',
  ']]>',
  '<!--',
  '-->',
  '<![CDATA[',
  '<?x?>',
  '&#0;',
  '&amp;',
  '\u0000',
  'x',
  '\r',
  ' nil="true"',
  ' type="array"',
];

function mutateOnce(text: string, random: () => number, pieces: readonly string[]): string {
  const at = Math.floor(random() * text.length);
  const span = Math.floor(random() ** 3 * 60);
  const piece = pieces[Math.floor(random() * pieces.length)] ?? '';
  switch (Math.floor(random() * 6)) {
    case 0:
      return text.slice(0, at);
    case 1:
      return text.slice(0, at) + text.slice(at + 1 + span);
    case 2:
      return text.slice(0, at) + piece + text.slice(at);
    case 3:
      return text.slice(0, at) + piece + text.slice(at + piece.length);
    case 4:
      return swapTags(text, at);
    default:
      return text.slice(0, at) + text.slice(at, at + span) + text.slice(at);
  }
}

function swapTags(text: string, from: number): string {
  const first = /<[^<>]*>/.exec(text.slice(from));
  if (first === null) return text;
  const at = from + first.index;
  const second = /<[^<>]*>/.exec(text.slice(at + first[0].length));
  if (second === null) return text;
  const next = at + first[0].length + second.index;
  return (
    text.slice(0, at) +
    second[0] +
    text.slice(at + first[0].length, next) +
    first[0] +
    text.slice(next + second[0].length)
  );
}
