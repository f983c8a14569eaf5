import {once} from 'node:events';
import {isIP} from 'node:net';
import type {Config} from '../../base/config.ts';
import {createLogger} from '../../base/log.ts';
import {tellAside} from '../../base/terminal.ts';
import {openPools} from '../../web/pools.ts';
import {openHttpApi} from '../../web/server.ts';
import {print} from '../terminal/report.ts';
import {withWarehouse} from '../warehouse.ts';

export interface HttpCommand {
  readonly port: number;
  readonly host: string;
  readonly json: boolean;
}

/** Opens the warehouse over HTTP, until told to stop. @returns the exit code */
export async function http(
  config: Config,
  {port, host, json}: HttpCommand,
  signal: AbortSignal,
): Promise<number> {
  return await withWarehouse(config, {migrates: true}, async ({databaseUrl, directUrl, place}) => {
    const secrets = config.token === null ? [] : [config.token];
    const log = createLogger({level: config.logLevel, secrets, isPretty: process.stderr.isTTY});
    const pools = openPools(databaseUrl, {sharesSessions: directUrl !== databaseUrl});
    const running = await openHttpApi({pools, log, host, port}).catch(async (error: unknown) => {
      await pools.close();
      throw error;
    });
    try {
      if (!isLoopback(host))
        tellAside(
          `http: ${host} can be reached by other machines, and what comes and goes there, keys too, can be read on the way: put TLS in front of it\n`,
        );
      const {url} = running;
      const text = `The HTTP API of ${place} is open at ${url}; fieldmirror keys add NAME makes a key. Ctrl-C stops.`;
      print(json, {json: {url}, text});
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      await running.close();
      await pools.close();
    }
    return 0;
  });
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
