import type {Member} from '../star/member.ts';

/**
 * A question of an owner, a dispatcher or a bookkeeper, and its answer: a view of the schema `mart` like those of the star, with
 * a form as of any moment.
 */
export interface Question extends Omit<Member, 'name' | 'missing' | 'isOfVersions'> {
  readonly name: `ask_${string}`;
  /** In the words of the person who asks. */
  readonly question: string;
  /** What is counted, and how. */
  readonly definition: string;
  /** What the answer does not say, or may be wrong about. */
  readonly caveats: string;
  /** The claims that the answer rests on: names of tie-outs. */
  readonly tieOuts: readonly string[];
  /** The order of the rows: what follows ORDER BY. */
  readonly order: string;
  /** What people have to be asked before there is an answer: a column of `mart.settings`. */
  readonly needs?: 'working_hours';
}

/** Beside the answer of each account: the account, first. */
export const accountColumn = ['account_key', 'answer.account_key', 'The account: dim_account.'] as const;

/** The settings, the zone and the date of the account of a fact. */
export function ofAccount(alias: string): string {
  return `JOIN {mart.dim_account} AS account ON account.account_key = ${alias}.account_key`;
}

/** Columns of an answer that stand in its subquery under their own names. */
export function told(columns: Readonly<Record<string, string>>): [string, string, string][] {
  return [
    [...accountColumn],
    ...Object.entries(columns).map(([name, comment]): [string, string, string] => [
      name,
      `answer.${name}`,
      comment,
    ]),
  ];
}
