// Records that both sides edit, in any order, under any rules: in the end both hold the same, and a
// value that lost against another is kept. ERPs that are some entries of the feed behind edit them,
// too, and end with the same. Nothing fails here.

import type pg from 'pg';
import {upsertAccount} from '../../../src/accounts/accounts.ts';
import {createLogger} from '../../../src/core/log.ts';
import {openPool} from '../../../src/postgres/database.ts';
import {customerResource, jobResource} from '../../../src/service/resource.ts';
import {Random} from '../../../src/service/vocabulary.ts';
import type {PageReader} from '../../../src/sweeps/page-reader.ts';
import {judge} from './checker.ts';
import {Erp} from './erp.ts';
import {letTimePass, readNextDue} from './fake-time.ts';
import {
  describeRow,
  readChanges,
  readConflicts,
  readFinalRows,
  readRecords,
  toEffects,
} from './final-state.ts';
import type {Effect, FinalChange, FinalConflict, Intent, Value} from './history.ts';
import {LabWorker} from './lab-worker.ts';
import {Mischief} from './mischief.ts';
import type {Mutant} from './mutants.ts';
import {openMemoryService} from './services.ts';
import {sweepStream} from './sweeping.ts';
import {listViolations} from './tally.ts';
import {certain} from './weather.ts';

/** The number of records in a warehouse; each is one history. */
export const historiesPerWorld = 500;
const rounds = 3;
const mostRounds = 30;
/** Of a sweep at the end. */
const mostTries = 10;
const timeZone = 'America/New_York';
const rules = ['service', 'warehouse', 'newest', 'ask'] as const;

/** Fields that both sides edit; a street and its city move as one. */
const fields = {
  customers: ['name', 'phone_number', 'service_address', 'service_city', 'email_address'],
  jobs: ['name', 'scheduled_on'],
} as const;

export interface Convergence {
  readonly histories: number;
  readonly changes: number;
  readonly conflicts: number;
  readonly byPerson: number;
  readonly requests: number;
  readonly violations: readonly string[];
  /** All that is known of the rows that an ERP is said to have lost a value of. */
  readonly stories: readonly string[];
}

/** Fields that move with a field. */
function groupOf(field: string): readonly string[] {
  return field.startsWith('service_')
    ? ['service_address', 'service_city', 'service_zip_code', 'service_state', 'service_country']
    : [field];
}

interface Place {
  readonly erps: readonly Erp[];
  readonly pool: pg.Pool;
  readonly random: Random;
  readonly service: Awaited<ReturnType<typeof openMemoryService>>;
  readonly records: readonly {readonly table: 'customers' | 'jobs'; readonly number: string}[];
  readonly intents: Intent[];
}

/**
 * @param world.databaseUrl - a migrated, empty warehouse of its own
 * @param world.lag - the most entries of the feed that an ERP is behind
 * @param world.systems - how many ERPs there are; one unless told otherwise
 */
export async function runConvergence(world: {
  readonly seed: number;
  readonly histories: number;
  readonly databaseUrl: string;
  readonly lag: number;
  readonly systems?: number;
  readonly pageReader: PageReader;
  readonly mutant?: Mutant;
}): Promise<Convergence> {
  const {seed, histories, databaseUrl, lag, systems = 1, pageReader, mutant} = world;
  const service = await openMemoryService({seed, runs: Math.ceil(histories / 2)});
  const mischief = new Mischief(service.backend, {
    seed: String(seed),
    odds: certain,
    readTrouble: 0,
  });
  await mischief.comeUp();
  const pool = openPool(databaseUrl, {max: 4, applicationName: 'convergence'});
  const {accountId} = await upsertAccount(pool, {name: 'lab', apiUrl: mischief.url, timeZone});
  const random = new Random(String(seed), 'convergence', 0);
  const reach = {url: mischief.url, token: service.token};
  const log = createLogger({level: 'silent', secrets: []});
  const place = {databaseUrl, accountId, service: reach, timeZone, log};
  const worker = new LabWorker(place, random, {death: 0, stall: 0});
  const shiftService = (seconds: number) => service.service.store.shift(seconds);
  const pass = (seconds: number) => letTimePass({pool, mischief, shiftService}, seconds);
  /** Streams whose last sweep waits to be continued. */
  const unfinished = new Set<string>();
  const sweep = async (stream: string) => {
    const isEnded = await sweepStream(
      {pool, databaseUrl, accountId, pageReader, service: reach},
      {stream, tries: 1},
    );
    if (isEnded) unfinished.delete(stream);
    else unfinished.add(stream);
  };
  const records = (['customers', 'jobs'] as const).flatMap((table) =>
    Array.from({length: Math.ceil(histories / 2)}, (_, at) => ({table, number: String(at + 1)})),
  );
  const intents: Intent[] = [];
  const erps = Array.from({length: systems}, (_, at) => {
    const name = at === 0 ? 'http: erp' : `http: erp ${at + 1}`;
    return new Erp(pool, new Random(String(seed), 'erp', at), {
      name,
      fields,
      groupOf,
      lag,
      intents,
    });
  });
  const lab: Place = {erps, pool, random, service, records, intents};
  const writesOfErp = Math.ceil(histories / 4);
  try {
    for (const stream of ['employees', 'customers', 'jobs', 'tasks']) await sweep(stream);
    await mutant?.prepare?.(pool);
    await drawRules(lab);
    for (const erp of erps) await erp.begin();
    for (let round = 1; round <= rounds; round++) {
      if (random.isTrue(0.5)) await sweep(random.pick(['customers', 'jobs'] as const));
      for (const erp of erps) await erp.write(writesOfErp);
      await edit(lab);
      for (const erp of erps) await erp.read();
      for (const erp of erps) await erp.write(writesOfErp);
      // Some changes are still unsent when the next edits come.
      if (round === rounds || random.isTrue(0.7)) await worker.work();
      if (random.isTrue(0.5)) await decide(lab, 0.5);
    }
    for (let round = 1; round <= mostRounds; round++) {
      await decide(lab, 1);
      await worker.work();
      const seconds = await readNextDue(pool);
      if (seconds === null && (await countUndecided(pool)) === 0) break;
      await pass(Math.max(1, seconds ?? 1));
    }
    // What a sweep had read before it was left may be older than the last edits. And a value that
    // somebody put back looks older than ours for a while: then the sweep waits.
    for (const stream of [...unfinished, 'customers', 'jobs', 'tasks'])
      for (let tries = 1; tries <= mostTries; tries++) {
        await sweep(stream);
        if (!unfinished.has(stream)) break;
        await pass(60);
        await pool.query(`UPDATE sync.sweeps SET due_at = now() WHERE state = 'due'`);
      }
    return await conclude(lab, {seed, reach, requests: mischief.fates.pass});
  } finally {
    await worker.close();
    await mischief.goDown();
    await pool.end();
  }
}

/** A rule for every field, drawn as a person might set it. */
async function drawRules({pool, random}: Place): Promise<void> {
  for (const [table, names] of Object.entries(fields))
    for (const name of names)
      await pool.query(
        'UPDATE sync.write_rules SET rule = $3 WHERE table_name = $1 AND field = $2',
        [table, name, random.pick(rules)],
      );
}

/** Leaves each record alone, or edits it here, there, or on both sides. */
async function edit(lab: Place): Promise<void> {
  const {pool, random, records} = lab;
  const client = await pool.connect();
  try {
    for (const record of records) {
      const sides = random.pick<readonly ('here' | 'there')[]>([
        [],
        ['here'],
        ['there'],
        ['here', 'there'],
        ['there', 'here'],
        ['here', 'here', 'there'],
      ]);
      for (const side of sides) {
        const field = random.pick(fields[record.table]);
        const value =
          field === 'scheduled_on'
            ? `2027-06-${random.integer(10, 28)}T14:${random.integer(10, 59)}:00+00:00`
            : `${field} ${random.integer(1, 6)}`;
        if (side === 'there') editThere(lab, record, {field, value});
        else await editHere(client, lab, {...record, field, value});
      }
    }
  } finally {
    client.release();
  }
}

function editThere(
  {service}: Place,
  {table, number}: Place['records'][number],
  {field, value}: {readonly field: string; readonly value: string},
): void {
  const {store} = service.service;
  const record = store.find(table === 'jobs' ? jobResource : customerResource, number);
  const kept = field === 'scheduled_on' ? value.replace('+00:00', 'Z') : value;
  if (record !== null)
    store.update(
      record,
      {changes: {[field]: kept}, employeeIds: null},
      {method: 'PUT', path: '', isOurs: false},
    );
}

async function editHere(
  client: pg.ClientBase,
  {intents}: Place,
  {
    table,
    number,
    field,
    value,
  }: Place['records'][number] & {readonly field: string; readonly value: string},
): Promise<void> {
  await client.query(`SELECT set_config('fieldmirror.last_change', '', false)`);
  const key = table === 'jobs' ? 'job_number' : 'customer_number';
  const seen = groupOf(field)
    .map((name) => `'${name}', to_jsonb(old.${name}) #>> '{}'`)
    .join(', ');
  const {rows} = await client.query<{row_id: string; saw: Record<string, Value>}>(
    `UPDATE warehouse.${table} SET ${field} = $1 WHERE ${key} = $2
      RETURNING row_id, jsonb_build_object(${seen}) AS saw`,
    [value, number],
  );
  const last = await client.query<{id: string | null}>('SELECT sync.last_change() AS id');
  const [row] = rows;
  const changeId = last.rows[0]?.id ?? '';
  if (row === undefined || changeId === '') return;
  intents.push({
    changeId,
    operation: 'update',
    table,
    rowId: row.row_id,
    key: null,
    fields: {[field]: value},
    saw: row.saw,
    author: 'author',
  });
}

/** A person decides some of the changes in conflict. */
async function decide({pool, random}: Place, share: number): Promise<void> {
  const {rows} = await pool.query<{change_id: string}>(
    `SELECT change_id FROM sync.changes WHERE state = 'conflict' ORDER BY change_id`,
  );
  for (const {change_id: changeId} of rows)
    if (random.isTrue(share))
      await pool.query('SELECT sync.resolve_change($1, $2)', [
        changeId,
        random.pick(['service', 'warehouse'] as const),
      ]);
}

async function countUndecided(pool: pg.Pool): Promise<number> {
  const {rows} = await pool.query<{count: string}>(
    `SELECT count(*) FROM sync.changes WHERE state = 'conflict'`,
  );
  return Number(rows[0]?.count);
}

async function conclude(
  {erps, pool, service, records, intents}: Place,
  {
    seed,
    reach,
    requests,
  }: {
    readonly seed: number;
    readonly reach: {readonly url: string; readonly token: string};
    readonly requests: number;
  },
): Promise<Convergence> {
  const changes = await readChanges(pool);
  const conflicts = await readConflicts(pool);
  const effects = toEffects(await service.readJournal());
  const verdict = judge({
    intents,
    effects,
    changes,
    conflicts,
    rows: await readFinalRows(pool),
    records: await readRecords(reach),
    canaryHits: [],
  });
  const name = `seed ${seed}`;
  const violations = [
    ...listViolations(verdict, name),
    ...verdict.leftToPerson.map((story) => `${name}: still undecided: ${story}`),
  ];
  const stories = new Map<string, readonly string[]>();
  for (const erp of erps) {
    const lost = findLostToErp(erp, {changes, conflicts, effects});
    violations.push(
      ...(await erp.findDiverged()).map((story) => `${name}: diverged: ${story}`),
      ...lost.map(({story}) => `${name}: lost to an ERP: ${story}`),
    );
    for (const {story, ...row} of lost)
      stories.set(`${row.table} ${row.rowId}`, [
        ...(await describeRow(pool, row)),
        ...erps.flatMap((each) => each.tellWrites(row)),
        ...listOfRow(row, {intents, changes, effects}),
      ]);
  }
  const ours = effects.filter(({isOurs}) => isOurs).length;
  if (requests !== ours)
    violations.push(`${name}: ${requests} writing requests, ${ours} of them changed something`);
  for (const {changeId, attempts, state} of changes)
    if (attempts > (state === 'done' ? 1 : 0))
      violations.push(`${name}: change ${changeId} is ${state}, and was sent ${attempts} times`);
  return {
    histories: records.length,
    changes: changes.length,
    conflicts: conflicts.length,
    byPerson:
      (await pool.query(`SELECT FROM sync.conflicts WHERE decided_by NOT LIKE 'rule %'`))
        .rowCount ?? 0,
    requests,
    violations,
    stories: [...stories.values()].flat(),
  };
}

/** What authors wanted of a row, and what happened to its record at the service, in order. */
function listOfRow(
  {table, rowId}: Pick<Intent, 'table' | 'rowId'>,
  {
    intents,
    changes,
    effects,
  }: {
    readonly intents: readonly Intent[];
    readonly changes: readonly FinalChange[];
    readonly effects: readonly Effect[];
  },
): string[] {
  const number = changes.find((each) => each.table === table && each.rowId === rowId)?.number;
  return [
    ...intents.filter((each) => each.table === table && each.rowId === rowId),
    ...effects.filter((each) => each.table === table && each.number === number),
  ].map((each) => JSON.stringify(each));
}

/** Values that the ERP replaced without a trace, though it had not read them. */
function findLostToErp(
  erp: Erp,
  history: {
    readonly changes: readonly FinalChange[];
    readonly conflicts: readonly FinalConflict[];
    readonly effects: readonly Effect[];
  },
): ReturnType<Erp['findLost']> {
  const nameOf = ({table, rowId}: Pick<Intent, 'table' | 'rowId'>) => `${table} ${rowId}`;
  const changes = new Map(history.changes.map((change) => [change.changeId, change]));
  const ofRow = Map.groupBy(history.conflicts, ({changeId}) => {
    const change = changes.get(changeId);
    return change === undefined ? '' : nameOf(change);
  });
  return erp.findLost({
    effects: history.effects,
    numberOf: ({changeId}) => changes.get(changeId)?.number ?? undefined,
    conflictsOf: (intent) => ofRow.get(nameOf(intent)) ?? [],
  });
}
