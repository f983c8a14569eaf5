import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {applyMutation, findMutations, type Mutation} from './mutations.ts';
import {type Survivor, survivors} from './survivors.ts';
import {targets} from './targets.ts';

/** A source with one fault in it. */
export interface Mutant {
  readonly source: string;
  readonly tests: readonly string[];
  readonly mutation: Mutation;
  /** The line of the fault, without the spaces around it. */
  readonly line: string;
  /** The whole text of the source as it is, and with the fault. */
  readonly original: string;
  readonly text: string;
}

export const root = join(import.meta.dirname, '..', '..');

/** All mutants of the targets whose path holds this text. */
export function listMutants(only = ''): Mutant[] {
  return [...targets]
    .filter(([source]) => source.includes(only))
    .flatMap(([source, tests]) => {
      const original = readFileSync(join(root, source), 'utf8');
      const lines = original.split('\n');
      return findMutations(original).map((mutation) => ({
        source,
        tests,
        mutation,
        line: (lines[mutation.line - 1] ?? '').trim(),
        original,
        text: applyMutation(original, mutation),
      }));
    });
}

/** So many of the mutants, drawn by this seed: the same seed draws the same ones. */
export function drawSample(mutants: readonly Mutant[], count: number, seed: string): Mutant[] {
  const rankOf = (mutant: Mutant) =>
    createHash('sha256')
      .update(`${seed} ${describeMutant(mutant)}`)
      .digest('hex');
  return mutants
    .map((mutant) => ({mutant, rank: rankOf(mutant)}))
    .sort((a, b) => (a.rank < b.rank ? -1 : 1))
    .slice(0, count)
    .map(({mutant}) => mutant);
}

/** `src/a.ts:12: < → <=, in if (a < b) return;` */
export function describeMutant({source, mutation, line}: Mutant): string {
  const {before, after} = mutation;
  return `${source}:${mutation.line}: ${shorten(before)} → ${shorten(after)}, in ${line}`;
}

function shorten(text: string): string {
  const plain = text.replace(/\s+/g, ' ');
  if (plain === '' || plain === ';') return 'nothing';
  return plain.length > 70 ? `${plain.slice(0, 69)}…` : plain;
}

/** Whether it is written down that this fault is not noticed. */
export function findSurvivor(mutant: Mutant): Survivor | undefined {
  return survivors.find(
    ({source, line, before, after}) =>
      source === mutant.source &&
      line === mutant.line &&
      before === mutant.mutation.before &&
      after === mutant.mutation.after,
  );
}
