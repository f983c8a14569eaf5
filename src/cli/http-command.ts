import {once} from 'node:events';
import type {Config} from '../core/config.ts';
import {createLogger} from '../core/log.ts';
import {openServer, usualPort} from './open-server.ts';
import {print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';

export interface HttpCommand {
  /** Left out: the usual one, or any other where that is in use, as it is beside a start. */
  readonly port?: number;
  readonly host: string;
  readonly json: boolean;
}

/**
 * Serves the console and the HTTP API without working, until told to stop. @returns the exit code
 */
export async function http(
  config: Config,
  {port, host, json}: HttpCommand,
  signal: AbortSignal,
): Promise<number> {
  return await withWarehouse(config, {migrates: true}, async (warehouse) => {
    const secrets = config.token === null ? [] : [config.token];
    const log = createLogger({level: config.logLevel, secrets, isPretty: process.stderr.isTTY});
    const listening = {host, port: port ?? usualPort, mayMove: port === undefined};
    const server = await openServer(config, warehouse, {...listening, log});
    try {
      const {url} = server;
      const text = `The HTTP API of ${warehouse.place} is open at ${url}, and the console with it; fieldmirror keys add NAME makes a key. Ctrl-C stops.`;
      print(json, {json: {url}, text});
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      await server.close();
    }
    return 0;
  });
}
