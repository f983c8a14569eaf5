import {accounts, type Member, type MemberColumn} from './member.ts';

/**
 * A question of an owner, a dispatcher or a bookkeeper, and its answer: a view of the schema `mart`
 * like those of the star, with a form as of any moment.
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

/** Whether the working hours of an account are set: of all its technicians, or of one of them. */
export const knowsHours = `(account.working_hours IS NOT NULL
     OR EXISTS (SELECT FROM mart.capacity AS own JOIN mart.dim_employee AS person ON person.employee_key = own.employee_key WHERE person.account_key = account.account_key))`;

/** Beside the answer of each account: the account, first. */
export const accountColumn = [
  'account_key',
  'answer.account_key',
  'The account: dim_account.',
] as const;

/** The settings, the zone and the date of the account of a fact. */
export function ofAccount(alias: string): string {
  return `JOIN ${accounts} ON account.account_key = ${alias}.account_key`;
}

/**
 * Days of employees between two dates of their account. The dates are known before the days are
 * reckoned, which a join would not let Postgres see.
 */
export function daysOfAccounts(from: string, to: string): string {
  return `(SELECT part.* FROM ${accounts}
           CROSS JOIN LATERAL (SELECT day.* FROM {mart.fct_employee_day} AS day
                                WHERE day.account_key = account.account_key AND day.date BETWEEN ${from} AND ${to} OFFSET 0) AS part)`;
}

/**
 * Columns of an answer that stand in its subquery under their own names.
 * @param special - which are money: told with two decimals at least, and all that they have; and of
 *   a column that may name a
 *   person the key that stands for it
 */
export function told(
  columns: Readonly<Record<string, string>>,
  {
    money = [],
    maskedBy = {},
  }: {
    readonly money?: readonly string[];
    readonly maskedBy?: Readonly<Record<string, string>>;
  } = {},
): MemberColumn[] {
  return [
    accountColumn,
    ...Object.entries(columns).map(
      ([name, comment]): MemberColumn => [
        name,
        money.includes(name) ? `answer.${name} + 0.00` : `answer.${name}`,
        comment,
        maskedBy[name],
      ],
    ),
  ];
}
