// The verb `mcp`: the tools of an assistant, over standard input and output. All tools only read.

import {setImmediate} from 'node:timers/promises';
import {McpServer} from '@modelcontextprotocol/sdk/server/mcp.js';
import {StdioServerTransport} from '@modelcontextprotocol/sdk/server/stdio.js';
import type {CallToolResult} from '@modelcontextprotocol/sdk/types.js';
import type pg from 'pg';
import {z} from 'zod';
import type {Account} from '../accounts/accounts.ts';
import type {Config} from '../core/config.ts';
import {FatalError, UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import {readVersion} from '../core/package.ts';
import {checkMigrations} from '../schema/checks.ts';
import {
  answerQuestion,
  beginReading,
  describeAnswered,
  findQuestion,
  prepareQuestion,
  readFreshness,
  wordOf,
} from '../star/answer.ts';
import {members, questions} from '../star/star.ts';
import {findStream} from '../streams/all.ts';
import {chooseAccount} from './accounts.ts';
import {runStatement, type StatementLimits} from './assistant-statement.ts';
import {type ExplainQuestion, explainTo} from './explain.ts';
import {withWarehouse} from './warehouse.ts';

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
    const {problem} = await checkMigrations(pool);
    if (problem !== null) throw new FatalError(`warehouse ${place}: ${problem}`, {kind: 'schema'});
    const account = await chooseAccount({pool}, options.account);
    const server = new McpServer({name: 'fieldmirror', version: readVersion()}, {instructions});
    const underWay = new Set<Promise<unknown>>();
    addTools(server, {pool, account, isPersonal: options.personal === true, limits, underWay});
    const ended = new Promise<void>((resolve) => {
      process.stdin.once('end', resolve);
      signal.addEventListener('abort', () => resolve(), {once: true});
    });
    await server.connect(new StdioServerTransport());
    await ended;
    // Questions received before the end of the input are answered.
    await setImmediate();
    while (underWay.size > 0) await Promise.allSettled(underWay);
    await server.close();
    return 0;
  });
}

/** The rows of these streams are about people, whatever the field. */
const aboutPeople = new Set(['customers', 'employees']);

/**
 * Refuses questions whose answer may contain names, for an assistant that must not see them.
 * Allowed are a number, a date or a yes or no of a job or a task: texts may name anybody.
 * @throws {UsageError} the explanation may contain names
 */
function checkExplained({stream, field}: ExplainQuestion): void {
  const {table} = findStream(stream);
  const column = table.columns.find(({name}) => name === field?.toLowerCase().replaceAll('-', '_'));
  if (!aboutPeople.has(stream) && column !== undefined && column.type !== 'text') return;
  const what = field === undefined ? stream : `${stream}, ${field}`;
  throw new UsageError(
    `explain: ${what}: expected a field of jobs or tasks that holds no text, ` +
      'for others may name people; the person who runs this server may start it with --personal',
  );
}

interface Served {
  readonly pool: pg.Pool;
  readonly account: Account;
  /** Whether the names of people are shown. */
  readonly isPersonal: boolean;
  readonly limits: StatementLimits;
  /** The calls that are not answered yet. */
  readonly underWay: Set<Promise<unknown>>;
}

const reads = {
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

function addTools(server: McpServer, served: Served): void {
  addQuestions(server, served);
  addAsk(server, served);
  addDefinitions(server, served);
  addQuery(server, served);
  addExplain(server, served);
  addFreshness(server, served);
}

function addQuestions(server: McpServer, served: Served): void {
  server.registerTool(
    'questions',
    {
      description: 'The questions of an owner that have an answer, by name, with what is counted.',
      annotations: reads,
    },
    () =>
      give(served, () =>
        questions.map((question) => ({
          name: wordOf(question),
          question: question.question,
          definition: question.definition,
          caveats: question.caveats,
          hasPeriod: question.period !== undefined,
          by: Object.keys(question.by ?? {}),
        })),
      ),
  );
}

function addAsk(server: McpServer, served: Served): void {
  const {pool, account, isPersonal, limits} = served;
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
      annotations: reads,
    },
    ({name, as_of: asOf, by, limit, ...days}) =>
      give(served, async () => {
        const question = findQuestion(name, by);
        return await reading(pool, async (client) => {
          const {accountId: accountKey} = account;
          const asked = await prepareQuestion(client, question, {
            ...{accountKey, asOf, isMasked: !isPersonal},
            ...days,
          });
          return describeAnswered(await answerQuestion(client, asked, limit), account.name);
        });
      }),
  );
}

function addDefinitions(server: McpServer, served: Served): void {
  const known = [...members, ...questions];
  server.registerTool(
    'definitions',
    {
      description:
        'The tables of the star with their grain; of one of them, its columns with what they mean.',
      inputSchema: {table: z.string().optional().describe('such as fct_job')},
      annotations: reads,
    },
    ({table}) =>
      give(served, () => {
        if (table === undefined) return known.map(({name, comment}) => ({name, comment}));
        const found = known.find(({name}) => name === table);
        if (found === undefined)
          throw new UsageError(
            `no table "${table}"${nearest(
              table,
              known.map(({name}) => name),
            )}`,
          );
        const {name, comment, columns} = found;
        return {
          name,
          comment,
          columns: columns.map(([column, , text]) => ({column, comment: text})),
        };
      }),
  );
}

function addQuery(server: McpServer, served: Served): void {
  const {pool, account, isPersonal, limits} = served;
  // Statements run one at a time, however many are requested at once.
  let turn: Promise<unknown> = Promise.resolve();
  const names = isPersonal ? '' : ' Names of people are replaced by their keys.';
  server.registerTool(
    'query',
    {
      description:
        'Runs one SELECT of Postgres over the star: facts fct_…, dimensions dim_…, answers ' +
        `ask_…, joined by columns of equal names, of the account ${account.name}. ` +
        `At most ${limits.rows} rows and ${limits.ms / 1000} s.${names}`,
      inputSchema: {sql: z.string().max(10_000).describe('one SELECT, tables without a schema')},
      annotations: reads,
    },
    ({sql}) =>
      give(served, () => {
        const run = () =>
          runStatement(pool, sql, {accountId: account.accountId, isPersonal}, limits);
        const mine = turn.then(run);
        turn = mine.catch(() => {});
        return mine;
      }),
  );
}

function addExplain(server: McpServer, served: Served): void {
  const {pool, account, isPersonal} = served;
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
      annotations: reads,
    },
    ({stream, number, field}) =>
      give(served, async () => {
        const question = {stream, number, ...(field === undefined ? {} : {field})};
        if (!isPersonal) checkExplained(question);
        return await explainTo(pool, account, question);
      }),
  );
}

function addFreshness(server: McpServer, served: Served): void {
  const {pool, account} = served;
  server.registerTool(
    'freshness',
    {
      description: 'How old the figures are, and since when the mirror knows the account.',
      annotations: reads,
    },
    () =>
      give(served, async () => ({
        account: account.name,
        timeZone: account.timeZone,
        ...(await reading(pool, (client) => readFreshness(client, account.accountId))),
      })),
  );
}

async function reading<T>(pool: pg.Pool, read: (client: pg.ClientBase) => Promise<T>): Promise<T> {
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
async function give(
  {underWay}: Pick<Served, 'underWay'>,
  find: () => unknown,
): Promise<CallToolResult> {
  const answering = answer(find);
  underWay.add(answering);
  try {
    return await answering;
  } finally {
    underWay.delete(answering);
  }
}

/**
 * A mistake in a question is returned as an answer, too, so that the assistant can correct the
 * question.
 */
async function answer(find: () => unknown): Promise<CallToolResult> {
  try {
    const found = await find();
    return {
      content: [{type: 'text', text: typeof found === 'string' ? found : JSON.stringify(found)}],
    };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return {isError: true, content: [{type: 'text', text: error.message}]};
  }
}
