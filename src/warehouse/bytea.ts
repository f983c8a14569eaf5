import {customType} from 'drizzle-orm/pg-core';

/** Bytes. A hash is sixteen of SHA-256: enough to tell two meanings apart, half the width in every row. */
export const bytea = customType<{data: Buffer}>({dataType: () => 'bytea'});
