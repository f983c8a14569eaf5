// Types of columns that tables share.

import {bigint, customType, timestamp} from 'drizzle-orm/pg-core';

/** Bytes. A hash is sixteen of SHA-256: enough to tell two meanings apart, half the width in every row. */
export const bytea = customType<{data: Buffer}>({dataType: () => 'bytea'});

/** A moment, as Postgres writes it. */
export const instant = () => timestamp({withTimezone: true, mode: 'string'});

/** A number that may be larger than JavaScript counts exactly. */
export const bigNumber = () => bigint({mode: 'bigint'});
