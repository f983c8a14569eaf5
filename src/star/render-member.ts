import {keyInPlace, type Member, type MemberColumn} from './member.ts';
import type {StarMember} from './star-member.ts';

/** What the words in braces of a definition stand for. */
interface Time {
  readonly now: string;
  readonly table: (name: string) => string;
  readonly member: (name: string) => string;
}

const present: Time = {
  now: 'now()',
  table: (name) => `warehouse.${name}`,
  member: (name) => `mart.${name}`,
};

/** The moment is the one parameter of the function. */
const past: Time = {
  now: '$1',
  table: (name) =>
    `(SELECT * FROM history.${name} AS version WHERE version.valid_from <= $1 AND (version.valid_to IS NULL OR version.valid_to > $1))`,
  member: (name) => `mart.${name}_as_of($1)`,
};

/** Parts of a job, by the number of the job. */
const partsOfJobs = new Set(['job_charges', 'time_entries', 'job_employees']);

/** The present of some jobs alone: `$1` has their keys. */
const someJobs: Time = {
  ...present,
  table: (name) => {
    if (name === 'jobs')
      return '(SELECT chosen.* FROM warehouse.jobs AS chosen WHERE chosen.row_id = ANY ($1))';
    if (!partsOfJobs.has(name)) return present.table(name);
    return `(SELECT part.* FROM warehouse.jobs AS chosen JOIN warehouse.${name} AS part ON part.account_id = chosen.account_id AND part.job_number = chosen.job_number WHERE chosen.row_id = ANY ($1))`;
  },
};

/**
 * A member in SQL, as the present and as of any moment: one definition, so that both always say the
 * same.
 */
export function renderMember(member: Member): StarMember {
  const {name, comment, columns, isOfVersions} = member;
  return {
    name,
    comment,
    columns: Object.fromEntries(columns.map(([column, , text]) => [column, text])),
    present: renderAt(member, present),
    past: isOfVersions ? null : renderAt(member, past),
    masked: renderMasked(member),
    kept: renderKept(member),
  };
}

/**
 * A member for an assistant: the rows of the account that its transaction is bound to, and the row
 * that stands for what is missing, which has no account. The names of people where they were asked
 * for.
 */
function renderMasked({name, columns, missing}: Member): string {
  const list = columns.map(shownColumn).join(', ');
  const bound = 'account_key = (SELECT sync.assistant_account())';
  return `SELECT ${list} FROM mart.${name} WHERE ${missing === undefined ? bound : `(${bound} OR account_key IS NULL)`}`;
}

function shownColumn([name, , , maskedBy]: MemberColumn): string {
  if (maskedBy === undefined) return name;
  return `CASE WHEN (SELECT sync.assistant_names()) THEN ${name} ELSE ${keyInPlace(maskedBy)} END AS ${name}`;
}

function renderKept(member: Member): StarMember['kept'] {
  const {columns, key = [columns[0]?.[0] ?? ''], keptBy, formerlyKeptBy = []} = member;
  if (keptBy === undefined) return null;
  return {
    key: [...new Set(['job_key', ...key])],
    indexes: keptBy,
    formerIndexes: formerlyKeptBy,
    someJobs: renderAt(member, someJobs),
  };
}

function renderAt({columns, from, missing}: Member, time: Time): string {
  const list = columns.map(([name, value]) => `${value} AS ${name}`).join(',\n       ');
  const rows = `SELECT ${list}\n  ${from}`.replace(
    /\{(mart\.)?(\w+)\}/g,
    (_, mart: string | undefined, word: string) => {
      if (word === 'now') return time.now;
      return mart === undefined ? time.table(word) : time.member(word);
    },
  );
  if (missing === undefined) return rows;
  return `${rows}\n UNION ALL\nSELECT ${columns.map(([name]) => missing[name] ?? 'NULL').join(', ')}`;
}
