// A service with the test's clock and line, an empty warehouse, workers one after the other, and
// time that passes when the test says so.

import {createClient} from '../../src/api/client.ts';
import {createTransport, type Transport, type TransportOptions} from '../../src/api/transport.ts';
import type {pushAll} from '../../src/cli/push.ts';
import {createLogger} from '../../src/core/log.ts';
import {Secret} from '../../src/core/secret.ts';
import {pushAccount} from '../../src/push/push.ts';
import type {PushCounts, PushDeps} from '../../src/push/run.ts';
import {type CaptureWorld, openCaptureWorld, timeZone} from '../changes/capture-world.ts';
import {letTimePass, readNextDue} from '../labs/push/fake-time.ts';
import {MemoryService, type ServiceClock} from '../labs/push/memory-service.ts';
import {Mischief} from '../labs/push/mischief.ts';
import {certain} from '../labs/push/weather.ts';

export interface ScriptedPlace extends CaptureWorld {
  readonly service: MemoryService;
  readonly mischief: Mischief;
  /** Requests that have arrived at the service, with their methods and paths; may be emptied. */
  readonly arrived: string[];
  /** Carries the changes due now. */
  push(deps?: Partial<PushDeps>, transport?: Transport): Promise<PushCounts>;
  pass(seconds: number): Promise<void>;
  /**
   * Carries and lets time pass until no change is due any more. @returns the seconds that it took
   */
  rest(): Promise<number>;
  openTransport(options?: Partial<TransportOptions>): Transport;
  /** The dependencies of `pushAll`. */
  world(transport?: Transport): Parameters<typeof pushAll>[0] & PushDeps;
}

export async function openScriptedPlace(clock?: ServiceClock): Promise<ScriptedPlace> {
  const world = await openCaptureWorld();
  const token = 'canary-of-a-scripted-place';
  const service = new MemoryService({
    token,
    timeZone,
    pageSize: 5,
    showsEmbed: true,
    ...(clock === undefined ? {} : {clock}),
  });
  const arrived: string[] = [];
  const backend = async (asked: Parameters<MemoryService['answer']>[0]) => {
    arrived.push(`${asked.method} ${asked.path}`);
    return service.answer(asked);
  };
  const mischief = new Mischief(backend, {seed: '1', odds: certain, readTrouble: 0});
  await mischief.comeUp();
  const transports: Transport[] = [];
  const openTransport: ScriptedPlace['openTransport'] = (options = {}) => {
    const baseUrl = mischief.url;
    const transport = createTransport({
      baseUrl,
      token: new Secret(token),
      retry: {attempts: 1, sleep: async () => {}},
      ...options,
    });
    transports.push(transport);
    return transport;
  };
  const own = openTransport();
  let passed = 0;
  const place: ScriptedPlace = {
    ...world,
    service,
    mischief,
    arrived,
    openTransport,
    world: (transport = own) => {
      const api = createClient(transport);
      const log = createLogger({level: 'silent', secrets: []});
      const clocks = () => [performance.now() + passed * 1_000];
      const openAccount = async () => ({api, timeZone});
      return {
        pool: world.pool,
        databaseUrl: world.url,
        openAccount,
        log,
        clocks,
      };
    },
    push: async (deps = {}, transport = own) =>
      await pushAccount(
        {...place.world(transport), ...deps},
        world.accountId,
        new AbortController().signal,
      ),
    pass: async (seconds) => {
      passed += seconds;
      const shiftService = (past: number) => service.store.shift(past);
      await letTimePass({pool: world.pool, mischief, shiftService}, seconds);
    },
    rest: async () => {
      const before = passed;
      for (;;) {
        await place.push();
        const seconds = await readNextDue(world.pool);
        if (seconds === null) return passed - before;
        await place.pass(Math.max(1, seconds));
      }
    },
    close: async () => {
      for (const transport of transports) await transport.close();
      await mischief.goDown();
      await world.close();
    },
  };
  return place;
}
