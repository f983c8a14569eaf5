// SQL of an assistant. The role that its statement runs as, and the account that the transaction is
// bound to, decide which rows it may read (migrations/functions/access/assistant.sql). This file
// decides which parts the statement may contain.

import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {readProcessId} from '../postgres/lock-waits.ts';

export interface StatementLimits {
  readonly rows: number;
  readonly bytes: number;
  readonly ms: number;
}

interface StatementRows {
  readonly rows: readonly unknown[];
  /** True if there are more rows than the limits allow. */
  readonly isCutOff: boolean;
}

interface StatementScope {
  /** The account whose rows are shown. */
  readonly accountId: string;
  /** Whether the names of people are shown. */
  readonly isPersonal: boolean;
  /** Ends the statement: nobody waits for it any more. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a statement on a session that is closed afterwards, so that nothing of the statement
 * remains.
 * @throws {UsageError} the problem of the statement, in words for its author
 */
export async function runStatement(
  pool: pg.Pool,
  statement: string,
  {accountId, isPersonal, signal}: StatementScope,
  limits: StatementLimits,
): Promise<StatementRows> {
  signal?.throwIfAborted();
  const client = await pool.connect();
  let cancel = () => {};
  try {
    const sql = statement.trim().replace(/;\s*$/, '');
    await checkStatement(client, sql);
    await client.query('BEGIN READ WRITE');
    await client.query('SELECT sync.bind_assistant($1, $2)', [accountId, isPersonal]);
    await client.query('SET TRANSACTION READ ONLY');
    // The statement gets one Postgres process for a bounded time: sweeps have the others. An idle
    // client keeps no snapshot.
    await client.query(
      `SELECT set_config(name, value, true)
       FROM (VALUES ('statement_timeout', $1), ('idle_in_transaction_session_timeout', $1),
         ('lock_timeout', '2s'), ('jit', 'off'), ('max_parallel_workers_per_gather', '0'))
           AS settings (name, value)`,
      [String(limits.ms)],
    );
    const pid = await readProcessId(client);
    cancel = () => void pool.query('SELECT pg_cancel_backend($1)', [pid]).catch(() => {});
    signal?.throwIfAborted();
    signal?.addEventListener('abort', cancel, {once: true});
    const {rows} = await client.query<{told: unknown}>(
      'SELECT told FROM sync.read_as_assistant($1, $2, $3) AS told',
      [sql, limits.rows, limits.bytes],
    );
    const returnedRows = rows.map(({told: row}) => row).filter((row) => row !== null);
    return {rows: returnedRows, isCutOff: returnedRows.length < rows.length};
  } catch (error) {
    throw explainRefusal(error, limits);
  } finally {
    signal?.removeEventListener('abort', cancel);
    await client.query('ROLLBACK').catch(() => {});
    // A session that a statement has run in is not used again.
    client.release(true);
  }
}

/**
 * Creates the statement as a view, so that Postgres parses it and accepts only one SELECT, then
 * checks its parts. Nothing of it runs. Its names are resolved in the same schemas as in the
 * function that reads.
 */
async function checkStatement(client: pg.ClientBase, sql: string): Promise<void> {
  await client.query(
    `BEGIN; SET LOCAL search_path = masked, mart, pg_catalog, pg_temp;
      SET LOCAL statement_timeout = '5s'; SET LOCAL lock_timeout = '2s'`,
  );
  try {
    // In the extended query mode Postgres accepts only one statement, and refuses a second one.
    await client.query({
      text: `CREATE TEMP VIEW asked_by_assistant AS\n${sql}\n`,
      queryMode: 'extended',
    } as pg.QueryConfig);
    await checkAllowed(client);
  } finally {
    await client.query('ROLLBACK');
  }
}

function explainRefusal(error: unknown, {ms}: StatementLimits): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  const message = error.message;
  if (error.code === '57014')
    return new UsageError(`the statement took longer than ${ms / 1000} s: ask for less, by dates`, {
      cause: error,
    });
  if (error.code === '55P03')
    return new UsageError('a table of the star is being rebuilt: ask again in a minute', {
      cause: error,
    });
  if (error.code === '42501')
    return new UsageError(
      `${message}: an assistant reads the star alone, by the names of its tables without a ` +
        'schema; the tool "definitions" lists them',
      {cause: error},
    );
  if (error.code === '42601')
    return new UsageError(
      `${message}: expected one SELECT or WITH … SELECT, and nothing after it`,
      {
        cause: error,
      },
    );
  return new UsageError(error.hint === undefined ? message : `${message} (${error.hint})`, {
    cause: error,
  });
}

// The parts that a statement of an assistant may contain. This is a list of allowed parts: a list
// of forbidden parts would miss those of the next version. Left out on purpose are functions that
// make large values of small ones (repeat, lpad, string_agg, arrays and documents of rows). So are
// rows without end (generate_series, recursion). Postgres would build all of these before the
// result is cut off, and checks its time limit only in between.

/**
 * Names of functions in the schema `pg_catalog`. Operators and casts between the types below are
 * also allowed.
 */
const functions = [
  ...[
    'count',
    'sum',
    'avg',
    'min',
    'max',
    'bool_and',
    'bool_or',
    'every',
    'mode',
    'corr',
    'regr_slope',
  ],
  ...['stddev', 'stddev_samp', 'stddev_pop', 'variance', 'var_samp', 'var_pop', 'regr_intercept'],
  ...[
    'percentile_cont',
    'percentile_disc',
    'percent_rank',
    'cume_dist',
    'row_number',
    'rank',
    'dense_rank',
  ],
  ...[
    'ntile',
    'lag',
    'lead',
    'first_value',
    'last_value',
    'nth_value',
    'textcat',
    'anytextcat',
    'textanycat',
  ],
  ...['abs', 'ceil', 'ceiling', 'floor', 'round', 'trunc', 'sign', 'mod', 'div', 'width_bucket'],
  ...[
    'length',
    'char_length',
    'character_length',
    'lower',
    'upper',
    'initcap',
    'left',
    'right',
    'substr',
  ],
  ...['substring', 'position', 'strpos', 'btrim', 'ltrim', 'rtrim', 'split_part', 'starts_with'],
  ...[
    'date_trunc',
    'date_part',
    'extract',
    'age',
    'make_date',
    'to_date',
    'to_char',
    'now',
    'timezone',
  ],
  ...['date_bin', 'isfinite', 'overlaps'],
];
const operators = [
  '=',
  '<>',
  '<',
  '<=',
  '>',
  '>=',
  '+',
  '-',
  '*',
  '/',
  '%',
  '~~',
  '!~~',
  '~~*',
  '!~~*',
];
const types = [
  ...['bool', 'int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'text', 'varchar', 'unknown'],
  ...['date', 'time', 'timestamp', 'timestamptz', 'interval'],
];
/** Tables allowed beside those of the schema `masked`: they are the same for every account. */
const sharedTables = ['dim_date', 'dim_job_state'];
/** Parts of a parsed statement, as this and earlier versions of Postgres name them. */
const nodes = [
  ...[
    'QUERY',
    'RANGETBLENTRY',
    'RTE',
    'RANGETBLREF',
    'RTEPERMISSIONINFO',
    'ALIAS',
    'TARGETENTRY',
    'FROMEXPR',
  ],
  ...[
    'JOINEXPR',
    'COMMONTABLEEXPR',
    'SETOPERATIONSTMT',
    'SORTGROUPCLAUSE',
    'GROUPINGSET',
    'GROUPINGFUNC',
  ],
  ...[
    'WINDOWCLAUSE',
    'WINDOWFUNC',
    'AGGREF',
    'FUNCEXPR',
    'OPEXPR',
    'DISTINCTEXPR',
    'NULLIFEXPR',
    'BOOLEXPR',
  ],
  ...[
    'SCALARARRAYOPEXPR',
    'ROWCOMPAREEXPR',
    'ROWCOMPARE',
    'SUBLINK',
    'PARAM',
    'VAR',
    'CONST',
    'CASEEXPR',
  ],
  ...[
    'CASE',
    'CASEWHEN',
    'WHEN',
    'CASETESTEXPR',
    'COALESCEEXPR',
    'COALESCE',
    'MINMAXEXPR',
    'MINMAX',
  ],
  ...[
    'NULLTEST',
    'BOOLEANTEST',
    'RELABELTYPE',
    'COERCEVIAIO',
    'ARRAYEXPR',
    'ARRAY',
    'ARRAYCOERCEEXPR',
  ],
  ...['SUBSCRIPTINGREF', 'SQLVALUEFUNCTION', 'COLLATEEXPR', 'COLLATE'],
];
/**
 * Each `||` may double a text, and each product the digits of a number. So their number bounds the
 * size of a value: 64 kB of text, and no more than a few seconds for one row.
 */
const mostParts = {joins: 8, products: 40, literalBytes: 250, columns: 500};

/** The fields of a plan that contain the type of a value. */
const typeFields = [
  ...['consttype', 'vartype', 'resulttype', 'opresulttype', 'funcresulttype', 'aggtype'],
  ...['wintype', 'casetype', 'coalescetype', 'minmaxtype', 'array_typeid', 'element_typeid'],
  ...['refcontainertype', 'refelemtype', 'refrestype', 'paramtype', 'typeId', 'type'],
];

const refusedPartsSql = `
  WITH plan AS (SELECT ev_action::text AS text FROM pg_rewrite
    WHERE ev_class = 'pg_temp.asked_by_assistant'::regclass),
  kinds AS (
    SELECT oid FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace
       AND (typname = ANY ($3) OR typcategory = 'A'
         AND typelem IN (SELECT oid FROM pg_type WHERE typnamespace = 'pg_catalog'::regnamespace
         AND typname = ANY ($3)))),
  called AS (
    SELECT found[1]::oid AS oid, proname, pronamespace = 'pg_catalog'::regnamespace AS is_builtin
      FROM plan, regexp_matches(text, ':(?:funcid|opfuncid|aggfnoid|winfnoid) (\\d+)', 'g') AS found
      LEFT JOIN pg_proc ON pg_proc.oid = found[1]::oid)
  SELECT 'calls ' || string_agg(DISTINCT coalesce(proname, 'an operator'), ', ') AS what,
    'calls' AS kind FROM called
   WHERE is_builtin IS NOT TRUE
      OR NOT (proname = ANY ($1)
              OR EXISTS (SELECT FROM pg_operator WHERE oprcode = called.oid AND oprname = ANY ($2)
                AND oprright IN (SELECT oid FROM kinds)
                            AND (oprleft = 0 OR oprleft IN (SELECT oid FROM kinds)))
              OR EXISTS (SELECT FROM pg_cast WHERE castfunc = called.oid
                AND castsource IN (SELECT oid FROM kinds)
              AND casttarget IN (SELECT oid FROM kinds)))
   UNION ALL
  SELECT 'reads ' || string_agg(DISTINCT read[1]::oid::regclass::text, ', '), 'reads'
  FROM plan, regexp_matches(text, ':relid (\\d+)', 'g') AS read
   WHERE read[1]::oid NOT IN (0, 'pg_temp.asked_by_assistant'::regclass) AND NOT EXISTS (
           SELECT FROM pg_class WHERE oid = read[1]::oid
           AND (relnamespace = 'masked'::regnamespace OR relnamespace = 'mart'::regnamespace
             AND relname = ANY ($5)))
   UNION ALL
  SELECT 'holds values of type ' || string_agg(DISTINCT held[1]::oid::regtype::text, ', '), 'holds'
    FROM plan, regexp_matches(text, ':(?:${typeFields.join('|')}) (\\d+)', 'g') AS held
   WHERE held[1]::oid NOT IN (SELECT oid FROM kinds)
   UNION ALL
  SELECT 'has ' || string_agg(DISTINCT part[1], ', '), 'has'
  FROM plan, regexp_matches(text, '\\{([A-Z_]+)', 'g') AS part WHERE part[1] <> ALL ($4)
   UNION ALL
  SELECT 'has ' || words, 'has' FROM plan,
    (VALUES ('recursion', ':hasRecursive true'), ('an array of rows', ':subLinkType 6'),
    ('an array of arrays', ':multidims true')) AS refused (words, form)
   WHERE strpos(text, form) > 0
   UNION ALL
  SELECT format('has %s %s, and at most %s are allowed', counted, words, most), 'has'
    FROM (SELECT count(*) FILTER (WHERE proname IN ('textcat', 'anytextcat', 'textanycat')),
      'texts joined by ||', $6::integer FROM called
           UNION ALL
          SELECT count(*) FILTER (WHERE proname IN ('numeric_mul', 'numeric_div', 'numeric_mod',
            'numeric_div_trunc')), 'products and quotients of decimals', $7::integer FROM called
           UNION ALL
          SELECT coalesce(max(size[1]::integer) - 4, 0), 'bytes in one constant', $8::integer
          FROM plan, regexp_matches(text, ':constvalue (\\d+) \\[', 'g') AS size
           UNION ALL
          SELECT count(*), 'columns in all its SELECTs', $9::integer
          FROM plan, regexp_matches(text, '\\{TARGETENTRY', 'g')) AS sizes (counted, words, most)
   WHERE counted > most`;

const expectations = {
  calls:
    'expected only functions that compute a number, a date or a short text, such as sum, ' +
    'date_trunc or lower',
  reads:
    'an assistant reads the star alone, by the names of its tables without a schema; ' +
    'the tool "definitions" lists them',
  holds: 'expected only numbers, texts, dates, times and truths',
  has:
    'expected a SELECT of tables, joins, groups and windows, with short constants; ' +
    'dim_date has the days',
} as const;

/**
 * Checks the statement, which Postgres has parsed as the view `pg_temp.asked_by_assistant`.
 * @throws {UsageError} it has parts that an assistant may not use
 */
async function checkAllowed(client: pg.ClientBase): Promise<void> {
  const {rows} = await client.query<{what: string | null; kind: keyof typeof expectations}>(
    refusedPartsSql,
    [
      ...[functions, operators, types, nodes, sharedTables],
      ...[mostParts.joins, mostParts.products, mostParts.literalBytes, mostParts.columns],
    ],
  );
  const [first] = rows.filter(({what}) => what !== null);
  if (first === undefined) return;
  throw new UsageError(`the statement ${first.what}: ${expectations[first.kind]}`);
}
