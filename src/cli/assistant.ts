// The verb `mcp`: the tools of an assistant, over standard input and output. All tools only read.

import {setImmediate} from 'node:timers/promises';
import {McpServer} from '@modelcontextprotocol/sdk/server/mcp.js';
import {StdioServerTransport} from '@modelcontextprotocol/sdk/server/stdio.js';
import type {CallToolResult} from '@modelcontextprotocol/sdk/types.js';
import type pg from 'pg';
import {z} from 'zod';
import type {Account} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import {readVersion} from '../core/package.ts';
import {
  answerQuestion,
  beginReading,
  describeAnswered,
  findQuestion,
  prepareQuestion,
  readFreshness,
  toQuestionWord,
} from '../star/answer.ts';
import {members, questions} from '../star/star.ts';
import {findStream} from '../streams/all.ts';
import {chooseAccount} from './accounts.ts';
import {runStatement, type StatementLimits} from './assistant-statement.ts';
import {type ExplainQuestion, explainAsText} from './explain.ts';
import {requireMigrated, withWarehouse} from './warehouse.ts';

interface McpOptions {
  readonly account?: string;
  /** Shows the names of people. */
  readonly personal?: boolean;
}

const limits = {rows: 1_000, bytes: 1_000_000, ms: 10_000};

const instructions = [
  'A field-service business as a star in Postgres: facts fct_…, dimensions dim_…, answers ask_….',
  'Ask the tool questions first: most of what an owner wants to know has an answer with a ' +
    'definition. Tell the definition and the',
  'age of the data with a figure. Revenue is before tax, on the day of completion; what is ' +
    'owed is with tax. Nothing can be changed here.',
].join('\n');

/**
 * Serves an assistant by the Model Context Protocol on standard input and output, until the input
 * ends.
 * @returns the exit code
 * @throws {FatalError} the warehouse is not of this version
 */
export async function mcp(
  config: Config,
  options: McpOptions,
  signal: AbortSignal,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, place}) => {
    await requireMigrated(pool, place);
    const account = await chooseAccount({pool}, options.account);
    const server = new McpServer({name: 'fieldmirror', version: readVersion()}, {instructions});
    const runningCalls = new Set<Promise<unknown>>();
    addTools(server, {
      pool,
      account,
      isPersonal: options.personal === true,
      limits,
      underWay: runningCalls,
    });
    const inputEnd = new Promise<void>((resolve) => {
      process.stdin.once('end', resolve);
      signal.addEventListener('abort', () => resolve(), {once: true});
    });
    await server.connect(new StdioServerTransport());
    await inputEnd;
    // Questions received before the end of the input are answered.
    await setImmediate();
    while (runningCalls.size > 0) await Promise.allSettled(runningCalls);
    await server.close();
    return 0;
  });
}

/** The rows of these streams are about people, whatever the field. */
const personalStreams = new Set(['customers', 'employees']);

/**
 * Refuses questions whose answer may contain names, for an assistant that must not see them.
 * Allowed are a number, a date or a yes or no of a job or a task: texts may name anybody.
 * @throws {UsageError} the explanation may contain names
 */
function refusePersonal({stream, field}: ExplainQuestion): void {
  const {table} = findStream(stream);
  const column = table.columns.find(({name}) => name === field?.toLowerCase().replaceAll('-', '_'));
  if (!personalStreams.has(stream) && column !== undefined && column.type !== 'text') return;
  const subject = field === undefined ? stream : `${stream}, ${field}`;
  throw new UsageError(
    `explain: ${subject}: expected a field of jobs or tasks that holds no text, ` +
      'for others may name people; the person who runs this server may start it with --personal',
  );
}

interface ToolContext {
  readonly pool: pg.Pool;
  readonly account: Account;
  /** Whether the names of people are shown. */
  readonly isPersonal: boolean;
  readonly limits: StatementLimits;
  /** The calls that are not answered yet. */
  readonly underWay: Set<Promise<unknown>>;
}

const readOnlyAnnotations = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

function addTools(server: McpServer, context: ToolContext): void {
  addQuestions(server, context);
  addAsk(server, context);
  addDefinitions(server, context);
  addQuery(server, context);
  addExplain(server, context);
  addFreshness(server, context);
}

function addQuestions(server: McpServer, context: ToolContext): void {
  server.registerTool(
    'questions',
    {
      description: 'The questions of an owner that have an answer, by name, with what is counted.',
      annotations: readOnlyAnnotations,
    },
    () =>
      runTool(context, () =>
        questions.map((question) => ({
          name: toQuestionWord(question),
          question: question.question,
          definition: question.definition,
          caveats: question.caveats,
          hasPeriod: question.period !== undefined,
          by: Object.keys(question.by ?? {}),
        })),
      ),
  );
}

function addAsk(server: McpServer, context: ToolContext): void {
  const {pool, account, isPersonal, limits} = context;
  server.registerTool(
    'ask',
    {
      description:
        'Answers a question by its name, with its definition, how fresh it is, ' +
        'and whether it ties out. Amounts are texts, exact.',
      inputSchema: {
        name: z.string().describe('such as debtors; the tool questions lists them'),
        as_of: z
          .string()
          .optional()
          .describe('a day such as 2026-10-31, or an instant: by what was known then'),
        from: z.string().optional().describe('first day of the period, if the question has one'),
        to: z.string().optional().describe('last day of the period'),
        by: z.string().optional().describe('another grouping that the tool questions lists'),
        limit: z.number().int().min(1).max(limits.rows).default(50).describe('how many rows'),
      },
      annotations: readOnlyAnnotations,
    },
    ({name, as_of: asOf, by, limit, ...days}) =>
      runTool(context, async () => {
        const question = findQuestion(name, by);
        return await readInTransaction(pool, async (client) => {
          const {accountId: accountKey} = account;
          const prepared = await prepareQuestion(client, question, {
            accountKey,
            asOf,
            isMasked: !isPersonal,
            ...days,
          });
          return describeAnswered(await answerQuestion(client, prepared, limit), account.name);
        });
      }),
  );
}

function addDefinitions(server: McpServer, context: ToolContext): void {
  const tables = [...members, ...questions];
  server.registerTool(
    'definitions',
    {
      description:
        'The tables of the star with their grain; of one of them, its columns with what they mean.',
      inputSchema: {table: z.string().optional().describe('such as fct_job')},
      annotations: readOnlyAnnotations,
    },
    ({table}) =>
      runTool(context, () => {
        if (table === undefined) return tables.map(({name, comment}) => ({name, comment}));
        const definition = tables.find(({name}) => name === table);
        if (definition === undefined)
          throw new UsageError(
            `no table "${table}"${nearest(
              table,
              tables.map(({name}) => name),
            )}`,
          );
        const {name, comment, columns} = definition;
        return {
          name,
          comment,
          columns: columns.map(([column, , text]) => ({column, comment: text})),
        };
      }),
  );
}

function addQuery(server: McpServer, context: ToolContext): void {
  const {pool, account, isPersonal, limits} = context;
  // Statements run one at a time, however many are requested at once.
  let previousRun: Promise<unknown> = Promise.resolve();
  const names = isPersonal ? '' : ' Names of people are replaced by their keys.';
  server.registerTool(
    'query',
    {
      description:
        'Runs one SELECT of Postgres over the star: facts fct_…, dimensions dim_…, answers ' +
        `ask_…, joined by columns of equal names, of the account ${account.name}. ` +
        `At most ${limits.rows} rows and ${limits.ms / 1000} s.${names}`,
      inputSchema: {sql: z.string().max(10_000).describe('one SELECT, tables without a schema')},
      annotations: readOnlyAnnotations,
    },
    ({sql}, {signal}) =>
      runTool(context, () => {
        const run = () =>
          runStatement(pool, sql, {accountId: account.accountId, isPersonal, signal}, limits);
        const result = previousRun.then(run);
        previousRun = result.catch(() => {});
        return result;
      }),
  );
}

function addExplain(server: McpServer, context: ToolContext): void {
  const {pool, account, isPersonal} = context;
  server.registerTool(
    'explain',
    {
      description:
        'Where a value came from, since when, and what was there before; without a field, ' +
        'the story of the row.',
      inputSchema: {
        stream: z.string().describe('customers, jobs, employees or tasks'),
        number: z.string().describe('the number of the record'),
        field: z.string().optional().describe('such as subtotal'),
      },
      annotations: readOnlyAnnotations,
    },
    ({stream, number, field}) =>
      runTool(context, async () => {
        const question = {stream, number, ...(field === undefined ? {} : {field})};
        if (!isPersonal) refusePersonal(question);
        return await explainAsText(pool, account, question);
      }),
  );
}

function addFreshness(server: McpServer, context: ToolContext): void {
  const {pool, account} = context;
  server.registerTool(
    'freshness',
    {
      description: 'How old the figures are, and since when the mirror knows the account.',
      annotations: readOnlyAnnotations,
    },
    () =>
      runTool(context, async () => ({
        account: account.name,
        timeZone: account.timeZone,
        ...(await readInTransaction(pool, (client) => readFreshness(client, account.accountId))),
      })),
  );
}

async function readInTransaction<T>(
  pool: pg.Pool,
  read: (client: pg.ClientBase) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await beginReading(client);
    return await read(client);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

/** Returns the findings of a tool, as text. */
async function runTool(
  {underWay: runningCalls}: Pick<ToolContext, 'underWay'>,
  find: () => unknown,
): Promise<CallToolResult> {
  const answer = answerCall(find);
  runningCalls.add(answer);
  try {
    return await answer;
  } finally {
    runningCalls.delete(answer);
  }
}

/**
 * A mistake in a question is returned as an answer, too, so that the assistant can correct the
 * question.
 */
async function answerCall(find: () => unknown): Promise<CallToolResult> {
  try {
    const result = await find();
    return {
      content: [{type: 'text', text: typeof result === 'string' ? result : JSON.stringify(result)}],
    };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return {isError: true, content: [{type: 'text', text: error.message}]};
  }
}
