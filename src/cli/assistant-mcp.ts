import {setImmediate} from 'node:timers/promises';
import {McpServer} from '@modelcontextprotocol/sdk/server/mcp.js';
import {StdioServerTransport} from '@modelcontextprotocol/sdk/server/stdio.js';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {readVersion} from '../core/package.ts';
import {checkMigrations} from '../schema/migration-check.ts';
import {addTools} from './assistant-tools.ts';
import {chooseAccount} from './choose-account.ts';
import {withWarehouse} from './with-warehouse.ts';

export interface McpOptions {
  readonly account?: string;
  /** Tells the names of people. */
  readonly personal?: boolean;
}

const limits = {rows: 1_000, bytes: 1_000_000, ms: 10_000};

const instructions = `A field-service business as a star in Postgres: facts fct_…, dimensions dim_…, answers ask_….
Ask the tool questions first: most of what an owner wants to know has an answer with a definition. Tell the definition and the
age of the data with a figure. Revenue is before tax, on the day of completion; what is owed is with tax. Nothing can be changed here.`;

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
    // Questions that came before the end are answered.
    await setImmediate();
    while (underWay.size > 0) await Promise.allSettled(underWay);
    await server.close();
    return 0;
  });
}
