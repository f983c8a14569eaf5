// Types of columns that tables share.

import {type SQL, sql} from 'drizzle-orm';
import {bigint, customType, timestamp} from 'drizzle-orm/pg-core';

/**
 * Bytes. A hash is sixteen of SHA-256: enough to tell two meanings apart, half the width in every
 * row.
 */
export const bytea = customType<{data: Buffer}>({dataType: () => 'bytea'});

/** A moment, as Postgres writes it. */
export const instant = () => timestamp({withTimezone: true, mode: 'string'});

/** A number that may be larger than JavaScript counts exactly: it is read as text. */
export const bigNumber = () => bigint({mode: 'bigint'}).$type<string>();

/** The values that a column may have, for the IN of its check. */
export function listed(values: readonly string[]): SQL {
  return sql.raw(values.map((value) => `'${value}'`).join(', '));
}
