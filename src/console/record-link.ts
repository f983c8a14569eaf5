import {type Look, linkTo} from './look.ts';

/** The place of a record: by its number, or by that of its row until it has one. */
export interface RecordPlace {
  readonly stream: string;
  readonly number: string | null;
  readonly rowId: string;
  readonly account: string;
}

/** The path of a record's page, without its account. */
export function pathOfRecord({stream, number, rowId}: Omit<RecordPlace, 'account'>): string {
  return `/records/${stream}/${number ?? `row-${rowId}`}`;
}

/** The address of a record's page; the account is named where there are several. */
export function linkToRecord(
  look: Pick<Look, 'query' | 'seen'>,
  record: RecordPlace,
  filters: Readonly<Record<string, string | null>> = {},
): string {
  const account = look.seen.length > 1 ? record.account : null;
  return linkTo(look, pathOfRecord(record), {...(account === null ? {} : {account}), ...filters});
}
