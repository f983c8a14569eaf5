// The services that the runs push to.

import type pg from 'pg';
import {
  customerResource,
  employeeResource,
  jobResource,
  notes,
  taskResource,
} from '../../../src/service/resource.ts';
import {Random} from '../../../src/service/vocabulary.ts';
import {type Backend, forwardTo} from './backend.ts';
import {MemoryService, type ServiceClock} from './memory-service.ts';
import type {JournalEntry} from './memory-store.ts';

export interface LabService {
  readonly token: string;
  readonly backend: Backend;
  /** Every effect since it was opened. */
  readJournal(): Promise<readonly JournalEntry[]>;
  /** Makes all its instants older; null where the service cannot. */
  readonly shift: ((seconds: number) => void) | null;
  close(): Promise<void>;
}

const by = {method: 'POST', path: '', isOurs: false};

/** Seconds by which a service's clock is off ours: a little, a lot, a day, either way. */
const skews = [0, 0, -30, 300, -300, 7_200, -7_200, 86_400, -86_400] as const;

/** A service whose clock is off, and whose answers always, mostly or never have a `Date`. */
function drawClock(random: Random): ServiceClock {
  const skew = random.pick(skews);
  const silence = random.pick([0, 0.3, 1] as const);
  return {records: skew, date: () => (random.isTrue(silence) ? null : skew)};
}

/** A service in memory, with a customer, a job with a note, and a task for every run. */
export async function openMemoryService({
  seed,
  runs,
}: {
  readonly seed: number;
  readonly runs: number;
}): Promise<LabService & {readonly service: MemoryService}> {
  const random = new Random(String(seed), 'service', 0);
  // Small pages: a wanted record is seldom on the first one.
  const service = new MemoryService({
    token: `canary-${seed}-not-to-be-seen`,
    timeZone: 'America/New_York',
    pageSize: random.integer(3, 12),
    // The specification promises related data for lists alone: one service in three holds to that.
    showsEmbed: seed % 3 !== 0,
    clock: drawClock(new Random(String(seed), 'clock', 0)),
  });
  const {store} = service;
  const make = (
    resource: Parameters<typeof store.create>[0],
    changes: Record<string, string>,
    owner: Parameters<typeof store.create>[1]['owner'] = null,
  ) => store.create(resource, {changes, employeeIds: null, owner}, by);
  for (const name of ['Ann', 'Bo', 'Cem']) make(employeeResource, {name, active: 'true'});
  for (let at = 1; at <= runs; at++) {
    const customer = make(customerResource, {name: `Customer ${at}`, phone_number: '555-0100'});
    const job = make(jobResource, {name: `Job ${at}`}, customer);
    make(notes, {note: 'Ring twice'}, job);
    make(taskResource, {name: `Task ${at}`});
  }
  store.shift(86_400);
  store.journal.splice(0);
  return {
    service,
    token: service.token,
    backend: async (asked) => service.answer(asked),
    readJournal: async () => store.journal,
    shift: (seconds) => store.shift(seconds),
    close: async () => {},
  };
}

/** The longest time that a reading is behind, in seconds. */
const longestLag = 10;

/** The same service, each of whose readings shows the state of 0 to 10 seconds ago. */
export async function openLaggingService(
  world: Parameters<typeof openMemoryService>[0],
): ReturnType<typeof openMemoryService> {
  const opened = await openMemoryService(world);
  const random = new Random(String(world.seed), 'lag', 0);
  opened.service.lag = () => random.integer(0, longestLag);
  return opened;
}

/** The reference service. @param pool - on its database */
export async function openReferenceService(service: {
  readonly url: string;
  readonly token: string;
  readonly pool: pg.Pool;
}): Promise<LabService> {
  const {url, token, pool} = service;
  const {rows} = await pool.query<{last: string}>(
    'SELECT coalesce(max(id), 0) AS last FROM service.journal',
  );
  const last = rows[0]?.last ?? '0';
  return {
    token,
    backend: forwardTo(url),
    readJournal: async () => {
      const {rows: journal} = await pool.query<JournalEntry>(
        `SELECT id::integer, method, path, resource, number::text, kind, changed,
          '{}'::jsonb AS before, true AS "isOurs"
           FROM service.journal WHERE id > $1 ORDER BY id`,
        [last],
      );
      return journal;
    },
    shift: null,
    close: async () => {},
  };
}
