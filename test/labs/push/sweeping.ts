import type pg from 'pg';
import {createClient} from '../../../src/api/client.ts';
import {createTransport} from '../../../src/api/transport.ts';
import {createLogger} from '../../../src/core/log.ts';
import {Secret} from '../../../src/core/secret.ts';
import type {PageReader} from '../../../src/sweeps/page-reader.ts';
import {runSweep} from '../../../src/sweeps/run-sweep.ts';
import {requestSweep, type SweepRequest} from '../../../src/sweeps/sweeps.ts';

/** What is swept: the whole stream unless it says otherwise. */
export type SweptTarget = Pick<SweepRequest, 'stream'> &
  Partial<Pick<SweepRequest, 'mode' | 'windowName' | 'recordNumber'>>;

/** Sweeps a stream. @returns whether the sweep ended within so many tries */
export async function sweepStream(
  place: {
    readonly pool: pg.Pool;
    readonly databaseUrl: string;
    readonly accountId: string;
    readonly pageReader: PageReader;
    readonly service: {readonly url: string; readonly token: string};
  },
  {tries, ...wanted}: SweptTarget & {readonly tries: number},
): Promise<boolean> {
  const {service, accountId, ...deps} = place;
  const transport = createTransport({
    baseUrl: service.url,
    token: new Secret(service.token),
    retry: {attempts: 1},
  });
  const account = {api: createClient(transport), timeZone: 'America/New_York'};
  const log = createLogger({level: 'silent', secrets: []});
  try {
    for (let attempt = 1; attempt <= tries; attempt++) {
      const target = {accountId, mode: 'full', requestedBy: 'command', ...wanted} as const;
      const {sweepId} = await requestSweep(place.pool, target);
      const result = await runSweep(
        {...deps, openAccount: async () => account, log},
        sweepId,
        new AbortController().signal,
      );
      if (result.outcome === 'ended') return true;
    }
    return false;
  } finally {
    await transport.close();
  }
}
