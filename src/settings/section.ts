// A section of the file of settings describes itself: its shape, the rows that it stands for, and
// how they are changed. A new one is a file beside this, and a line in all-sections.ts.

import type {z} from 'zod';
import type {Queryable} from '../postgres/database.ts';
import type {Patch, Path, Tree} from './settings-tree.ts';

/** What goes before a file. */
export interface Environment {
  /** The account that the environment names. */
  readonly account: {readonly apiUrl: string; readonly timeZone: string} | null;
  /**
   * The name of the account whose data are made up: its address and zone are those that `start`
   * gives it.
   */
  readonly demo: string;
}

/** What is wrong at a place of the section. */
export interface Problem {
  readonly path: Path;
  /** What was expected, what came, and the next step. */
  readonly text: string;
}

/** What a file would make of a section. */
export interface Prospect {
  readonly before: Tree;
  readonly after: Tree;
  readonly patch: Patch;
  /** The accounts that there will be. */
  readonly accounts: readonly string[];
}

export interface Section {
  /** Its key in the file. */
  readonly name: string;
  /** Told above it in an export and in editors: what it is, and what is so where nothing is set. */
  readonly about: readonly string[];
  /** Its shape in the file, where every value may be left out. */
  readonly schema: z.ZodType<Patch>;
  /** Whether its first keys are accounts. */
  readonly isByAccount: boolean;
  /** Whether an export leaves out what is at its default: there is much of it. */
  readonly hidesDefaults?: boolean;
  /** Advice on a key that is not known, by the key. */
  readonly advice?: Readonly<Record<string, string>>;
  /** The values in force, in the order of an export. */
  readonly read: (db: Queryable) => Promise<Tree>;
  /** The defaults of what is in a tree. */
  readonly defaultsOf?: (tree: Tree) => Tree;
  /**
   * The values that the environment gives, in place of a file.
   * @param trees - what is in force, and the same with what a file adds
   */
  readonly fromEnvironment?: (
    trees: {readonly before: Tree; readonly merged: Tree},
    environment: Environment,
  ) => Tree;
  /** Keys of what sweeps tell: their values count where there is none yet, and are not changed. */
  readonly observed?: readonly string[];
  /**
   * The values of a tree that mean nothing beside the others: they go, unless the file names them,
   * which is a mistake.
   */
  readonly listMoot?: (tree: Tree) => Path[];
  /** The problems that only the rows show. */
  readonly check?: (db: Queryable, prospect: Prospect) => Promise<Problem[]>;
  /** Writes what differs, as a person would by hand. */
  readonly apply: (db: Queryable, change: Pick<Prospect, 'before' | 'after'>) => Promise<void>;
}
