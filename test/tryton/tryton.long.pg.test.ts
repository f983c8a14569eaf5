// The connector of examples/tryton between a real Tryton and a real warehouse, told as a story: the
// first match, both directions, conflicts, deletes, an outage of each side, and kill -9 at each
// request that the connector makes. Where TRYTON_PYTHON is set, as in .ci/run, nothing is left out.

import {mkdtemp, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {type Ended, type Running, runCommand, startCommand} from '../support/command.ts';
import {freePorts} from '../support/free-ports.ts';
import {type MergingService, openMergingService} from '../support/merging-service.ts';
import {openPlace, type Place} from '../support/place.ts';
import {giveBackAsItCame, openProxy} from '../support/proxy.ts';
import {kill} from '../support/server-process.ts';
import {SetUp} from '../support/set-up.ts';
import {withClient} from '../support/with-client.ts';
import {openTryton, type Party, packages, type TrytonPlace} from './tryton-place.ts';

const setUp = new SetUp();
let place: Place;
let merging: MergingService;
let tryton: TrytonPlace;
let product: Running;
/** Where `start` serves HTTP. */
let port: number;
/** Keys of the HTTP API: the connector's, and that of an office that writes, too. */
let keys: {readonly tryton: string; readonly office: string};

const envOfPlace = () => ({...place.env, FIELDMIRROR_API_URL: merging.url});

async function startProduct(): Promise<void> {
  product = startCommand(['start', '--port', String(port)], {
    ...envOfPlace(),
    FIELDMIRROR_LOG_LEVEL: 'info',
  });
  await product.prints(/Running\. Ctrl-C/);
}

async function fieldmirror(...args: string[]): Promise<Ended> {
  const ended = await runCommand(args, envOfPlace());
  expect(ended, `${args.join(' ')}: ${ended.stderr}`).toMatchObject({code: 0});
  return ended;
}

async function addKey(...args: string[]): Promise<string> {
  return (await fieldmirror('keys', 'add', ...args)).stdout.split('\n')[0] ?? '';
}

async function query<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
  return await withClient(place.databaseUrl, async (client) => {
    return (await client.query<Row>(sql, values)).rows;
  });
}

function connect(args: readonly string[], addresses: Readonly<Record<string, string>> = {}) {
  return tryton.connector(args, {
    WAREHOUSE_URL: `http://127.0.0.1:${port}`,
    WAREHOUSE_KEY: keys.tryton,
    ...addresses,
  });
}

/** Runs the connector until both sides are level. */
async function once(...args: string[]): Promise<void> {
  const ended = await connect(['--once', ...args]).ended;
  expect(ended, ended.stderr).toMatchObject({code: 0});
}

/** Waits until no change is on its way to the service. */
async function settle(): Promise<void> {
  const sql = `SELECT change_id, state, reason FROM sync.changes
    WHERE state IN ('pending', 'sending', 'in_doubt')`;
  await expect.poll(() => query(sql), {timeout: 120_000, interval: 300}).toEqual([]);
}

/** What the connector sends reaches the service, and comes back. */
async function level(): Promise<void> {
  await once();
  await settle();
  await once();
}

interface Customer {
  readonly key: string | null;
  readonly number: string;
  readonly name: string | null;
  readonly phone: string | null;
  readonly street: string | null;
}

async function readCustomers(): Promise<Customer[]> {
  return await query<Customer>(
    `SELECT links.key, customer_number AS number, name, phone_number AS phone,
       service_address AS street, fax, email_address AS email, service_city AS city
       FROM warehouse.customers AS held LEFT JOIN sync.links ON links.row_id = held.row_id
        AND links.table_name = 'customers' AND links.system = 'tryton' AND until IS NULL
      WHERE _deleted_at IS NULL ORDER BY links.key::bigint NULLS FIRST, customer_number`,
  );
}

/** Each living customer is one living party, and each has what the other has. */
async function expectLevel(): Promise<void> {
  const parties = (await tryton.readParties()).filter(
    ({active, fieldService}) => active && fieldService,
  );
  const customers = await readCustomers();
  const told = customers.map(({number: _, ...customer}) =>
    Object.fromEntries(Object.entries(customer).map(([name, value]) => [name, value ?? ''])),
  );
  expect(told).toEqual(
    parties.map(({id, active: _, fieldService: __, problem: ___, ...values}) => ({
      key: String(id),
      ...values,
    })),
  );
}

async function findParty(name: string): Promise<Party> {
  const found = (await tryton.readParties()).filter((party) => party.name === name);
  expect(found, name).toHaveLength(1);
  return found[0] as Party;
}

async function numberOf(party: number): Promise<string> {
  const found = (await readCustomers()).find(({key}) => key === String(party));
  if (found === undefined) throw new Error(`no customer has the key ${party}`);
  return found.number;
}

/** What a dispatcher does at the service. */
async function dispatch(method: 'PUT' | 'DELETE', number: string, fields = ''): Promise<void> {
  const {url, token} = place.service;
  const answer = await fetch(`${url}/customers/${number}.xml`, {
    method,
    headers: {
      'Content-Type': 'application/xml',
      Authorization: `Basic ${Buffer.from(`${token}:${token}`).toString('base64')}`,
    },
    ...(method === 'PUT' ? {body: `<customer>${fields}</customer>`} : {}),
  });
  expect(answer.status, await answer.text()).toBeLessThan(300);
}

async function readAtService(number: string): Promise<string> {
  const {url, token} = place.service;
  const login = Buffer.from(`${token}:${token}`).toString('base64');
  const answer = await fetch(`${url}/customers/${number}.xml`, {
    headers: {Authorization: `Basic ${login}`},
  });
  return answer.ok ? await answer.text() : String(answer.status);
}

/** Another program writes customers over HTTP. */
async function writeAtOffice(changes: readonly object[]): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/v1/changes`, {
    method: 'POST',
    headers: {'Content-Type': 'application/json', Authorization: `Bearer ${keys.office}`},
    body: JSON.stringify(changes.map((change) => ({table: 'customers', ...change}))),
  });
  expect(answer.status, await answer.text()).toBe(202);
}

/** The one change in a state, and its number. */
async function changeIn(state: string): Promise<string> {
  const found = await query<{id: string}>(
    'SELECT change_id AS id FROM sync.changes WHERE state = $1',
    [state],
  );
  expect(found, state).toHaveLength(1);
  return found[0]?.id ?? '';
}

test.runIf(packages === undefined)('Tryton is missing here, so it is not tested', () => {
  process.stderr.write('Tryton: not tested, for TRYTON_PYTHON names no folder that has it\n');
});

describe.runIf(packages !== undefined)('a Tryton and a warehouse', () => {
  beforeAll(async () => {
    [port = 0] = await freePorts(1);
    place = await setUp.step(
      'opening the warehouse',
      () => openPlace({}, inject('warehouseTemplate')),
      ({close}) => close(),
    );
    merging = await setUp.step(
      'a proxy before the service',
      () => openMergingService(place.service),
      ({close}) => close(),
    );
    tryton = await setUp.step('starting Tryton', openTryton, ({close}) => close());
    await fieldmirror('sync');
    keys = {
      tryton: await addKey('tryton', '--system', 'tryton', '--hold-deletes'),
      office: await addKey('office', '--system', 'office'),
    };
    await setUp.step('starting the product', startProduct, async () => {
      product.process.kill('SIGKILL');
      await product.ended;
    });
  }, 600_000);
  afterAll(() => setUp.end(), 120_000);

  test('match at the first start: each customer is one party afterwards', async () => {
    const [first, second, ...others] = (await readCustomers()).filter(
      ({name, phone}) => name !== null && phone !== null,
    );
    if (first === undefined || second === undefined) throw new Error('too few customers');
    const wanted = {name: first.name ?? '', phone: first.phone ?? ''};
    const here = await tryton.addParty({...wanted, street: '1 Elsewhere'}, false);
    const fax = await tryton.addParty(
      {name: second.name ?? '', phone: second.phone ?? '', fax: '555-0170'},
      false,
    );
    const supplier = await tryton.addParty({name: 'Nobody Known', phone: '555-0171'}, false);
    const onlyHere = await tryton.addParty({name: 'Only Here', city: 'Salem'});

    const file = join(await mkdtemp(join(tmpdir(), 'fieldmirror-parties-')), 'parties.csv');
    const printed = await connect(['--parties']).ended;
    await writeFile(file, printed.stdout);
    await fieldmirror('match', 'customers', '--system', 'tryton', '--from', file, '--apply');
    await level();

    expect(await numberOf(here)).toBe(first.number);
    expect(await numberOf(fax)).toBe(second.number);
    expect((await tryton.readParty(here)).street).toBe(first.street ?? '1 Elsewhere');
    expect(await readAtService(second.number)).toContain('<fax>555-0170</fax>');
    expect(await readAtService(await numberOf(onlyHere))).toContain('<name>Only Here</name>');
    expect(await tryton.readParty(supplier)).toMatchObject({active: true, fieldService: false});
    expect((await tryton.readParties()).length).toBe(others.length + 4);
    await expectLevel();
    const changes = () => query('SELECT FROM sync.changes');
    const {length} = await changes();
    await once('--begin');
    expect(await changes()).toHaveLength(length);
    await expectLevel();
  }, 600_000);

  test('with --winner tryton the values of Tryton win if both sides have a value', async () => {
    const fields = {name: 'Two Phones', phone_number: '555-0161', email_address: 'two@example.com'};
    await writeAtOffice([{operation: 'create', external_key: 'two', fields}]);
    await settle();
    const {number = ''} = (await readCustomers()).find(({name}) => name === 'Two Phones') ?? {};
    const party = await tryton.addParty(
      {name: 'Two Telephones', phone: '555-0162', fax: '555-0163'},
      false,
    );
    await fieldmirror('links', 'set', 'customers', number, String(party), '--system', 'tryton');
    await once('--begin', '--winner', 'tryton');
    await settle();
    await once();
    expect(await tryton.readParty(party)).toMatchObject({
      name: 'Two Telephones',
      phone: '555-0162',
      fax: '555-0163',
      email: 'two@example.com',
    });
    const text = await readAtService(number);
    for (const value of ['Two Telephones', '555-0162', '555-0163', 'two@example.com'])
      expect(text).toContain(`>${value}<`);
    await expectLevel();
  }, 600_000);

  test('an edit on either side reaches the other', async () => {
    const {id} = await findParty('Only Here');
    const number = await numberOf(id);
    await tryton.editParty(id, {phone: '555-0180', street: '2 Oak St', city: 'Astoria'});
    await level();
    expect(await readAtService(number)).toMatch(/<phone-number>555-0180<[\s\S]*2 Oak St/);
    await dispatch('PUT', number, '<name>Renamed There</name><phone-number/>');
    await fieldmirror('sync', 'customers');
    await level();
    expect(await tryton.readParty(id)).toMatchObject({name: 'Renamed There', phone: ''});
    await expectLevel();
  }, 600_000);

  test.each([
    {side: 'service', there: '555-0191', here: '555-0192'},
    {side: 'warehouse', there: '555-0193', here: '555-0194'},
  ])(
    'a phone number edited on both sides is a conflict, and a person chooses the $side',
    async ({side, there, here}) => {
      const phone = side === 'service' ? there : here;
      const {id} = await findParty('Renamed There');
      const number = await numberOf(id);
      await dispatch('PUT', number, `<phone-number>${there}</phone-number>`);
      await fieldmirror('sync', 'customers');
      await tryton.editParty(id, {phone: here, email: 'ada@example.com'});
      await level();
      const change = await changeIn('conflict');
      expect((await tryton.readParty(id)).problem).toMatch(
        `Change ${change}: changed on both sides: phone_number`,
      );
      await fieldmirror('changes', 'resolve', change, '--take', side);
      await level();
      expect(await tryton.readParty(id)).toMatchObject({
        phone,
        email: 'ada@example.com',
        problem: null,
      });
      expect(await readAtService(number)).toContain(`<phone-number>${phone}</phone-number>`);
      await expectLevel();
    },
    600_000,
  );

  test('an edit while another edit of the same field is being sent is a conflict', async () => {
    const {id} = await findParty('Renamed There');
    const number = await numberOf(id);
    await writeAtOffice([{operation: 'update', number, fields: {phone_number: '555-0201'}}]);
    await settle();
    const edit = () => tryton.editParty(id, {phone: '555-0202'});
    let isEdited = false;
    const proxy = await openProxy(`http://127.0.0.1:${port}`, {
      giveBack: (answer, response, {path}) => {
        const waits = path.startsWith('/v1/feed') && !isEdited ? edit() : Promise.resolve();
        isEdited ||= path.startsWith('/v1/feed');
        void waits.then(() => giveBackAsItCame(answer, response));
      },
    });
    const ended = await connect(['--once'], {WAREHOUSE_URL: proxy.url}).ended;
    await proxy.close();
    expect(ended, ended.stderr).toMatchObject({code: 0});
    await level();
    await fieldmirror('changes', 'resolve', await changeIn('conflict'), '--take', 'warehouse');
    await level();
    expect(await tryton.readParty(id)).toMatchObject({phone: '555-0202', problem: null});
    expect(await readAtService(number)).toContain('<phone-number>555-0202</phone-number>');
    await expectLevel();
  }, 600_000);

  test('a value that one side rejects is shown on the party, and blocks nothing else', async () => {
    const id = await tryton.addParty({name: ''});
    await tryton.addParty({name: 'After It'});
    await level();
    expect((await tryton.readParty(id)).problem).toMatch(/name: expected a text/);
    expect(await numberOf((await findParty('After It')).id)).toMatch(/^\d+$/);
    await tryton.editParty(id, {name: 'Named'});
    await level();
    expect((await tryton.readParty(id)).problem).toBeNull();

    const {id: other} = await findParty('After It');
    await writeAtOffice([
      {operation: 'update', number: await numberOf(other), fields: {name: 'A\tB'}},
      {operation: 'update', number: await numberOf(id), fields: {name: 'Longer'}},
    ]);
    await level();
    expect(await tryton.readParty(other)).toMatchObject({
      name: 'After It',
      problem: expect.stringMatching(/^Tryton: /),
    });
    expect((await tryton.readParty(id)).name).toBe('Longer');
    await writeAtOffice([
      {operation: 'update', number: await numberOf(other), fields: {name: 'After It'}},
    ]);
    await level();
    expect((await tryton.readParty(other)).problem).toBeNull();
    await expectLevel();
  }, 600_000);

  test('a delete in Tryton is held; a delete at the service deactivates the party', async () => {
    const {id} = await findParty('Longer');
    const number = await numberOf(id);
    await tryton.clerk('party.party', 'write', [id], {active: false});
    await level();
    const held = await changeIn('held');
    expect(await readAtService(number)).toContain('<name>Longer</name>');
    await fieldmirror('changes', 'cancel', held);
    await level();
    expect(await tryton.readParty(id)).toMatchObject({active: true, name: 'Longer'});
    await expectLevel();

    await tryton.clerk('party.party', 'write', [id], {field_service: false});
    await level();
    expect(await tryton.readParty(id)).toMatchObject({active: true, fieldService: false});
    await fieldmirror('changes', 'cancel', await changeIn('held'));
    await level();
    expect(await tryton.readParty(id)).toMatchObject({active: true, fieldService: true});

    await tryton.clerk('party.party', 'delete', [id]);
    await level();
    await fieldmirror('changes', 'release', await changeIn('held'));
    await level();
    expect(await readAtService(number)).toMatch(/^4\d\d$/);
    await expectLevel();

    const {id: other} = await findParty('After It');
    await dispatch('DELETE', await numberOf(other));
    await fieldmirror('sync', 'customers');
    await level();
    expect(await tryton.readParty(other)).toMatchObject({active: false, name: 'After It'});
    await expectLevel();
    await tryton.clerk('party.party', 'write', [other], {active: true});
    await level();
    expect((await tryton.readParty(other)).problem).toMatch(/is deleted/);
    await tryton.clerk('party.party', 'write', [other], {active: false});
    await level();
    await expectLevel();
  }, 600_000);

  test('a merged customer is reported on its party, which stays until it is merged', async () => {
    const [kept, gone] = [
      await tryton.addParty({name: 'Kept', phone: '555-0164'}),
      await tryton.addParty({name: 'Merged Away', phone: '555-0165'}),
    ];
    await level();
    const number = await numberOf(kept);
    await merging.merge(await numberOf(gone), number);
    await fieldmirror('sync', 'customers');
    await level();
    expect(await tryton.readParty(gone)).toMatchObject({
      active: true,
      name: 'Merged Away',
      problem: `The service merged this customer into ${number}: merge it here, too.`,
    });
    expect(await tryton.readParty(kept)).toMatchObject({name: 'Kept', problem: null});
    expect(await numberOf(kept)).toBe(number);
    // What Replace does to the party that goes.
    await tryton.clerk('party.party', 'write', [gone], {active: false});
    await level();
    expect((await tryton.readParty(gone)).problem).toBeNull();
    expect(await query(`SELECT FROM sync.changes WHERE state = 'held'`)).toEqual([]);
    expect(await readAtService(number)).toContain('<name>Kept</name>');
    await expectLevel();
  }, 600_000);

  test('an outage of either side delays edits, and loses none', async () => {
    const {id} = await findParty('Renamed There');
    const number = await numberOf(id);
    product.process.kill('SIGKILL');
    await product.ended;
    const first = connect([]);
    await tryton.editParty(id, {name: 'Through the Outage'});
    await first.prints(/trying again/);
    await startProduct();
    const nameThere = () => readAtService(number);
    await expect
      .poll(nameThere, {timeout: 120_000, interval: 500})
      .toContain('<name>Through the Outage</name>');
    await kill(first.process);

    await tryton.stop();
    await writeAtOffice([{operation: 'update', number, fields: {name: 'Through Another'}}]);
    const second = connect([]);
    await second.prints(/trying again/);
    await tryton.start();
    const nameHere = async () => (await tryton.readParty(id)).name;
    await expect.poll(nameHere, {timeout: 120_000, interval: 500}).toBe('Through Another');
    await kill(second.process);
    await level();
    await expectLevel();
  }, 600_000);

  test('killed at each of its requests, the connector loses and duplicates nothing', async () => {
    const plan: {at: number; when: string; victim: Running | null} = {
      at: 0,
      when: 'before',
      victim: null,
    };
    let requests = 0;
    const kills = (when: string) => when === plan.when && requests === plan.at;
    const openKillingProxy = (target: string) =>
      openProxy(target, {
        receive: (_request, response) => {
          requests++;
          if (!kills('before')) return false;
          plan.victim?.process.kill('SIGKILL');
          response.destroy();
          return true;
        },
        giveBack: (answer, response) => {
          if (!kills('after')) return giveBackAsItCame(answer, response);
          plan.victim?.process.kill('SIGKILL');
          answer.resume().once('end', () => response.destroy());
        },
      });
    const near = await setUp.step(
      'a proxy before Fieldmirror',
      () => openKillingProxy(`http://127.0.0.1:${port}`),
      ({close}) => close(),
    );
    const {origin, pathname} = new URL(tryton.url);
    const far = await setUp.step(
      'a proxy before Tryton',
      () => openKillingProxy(origin),
      ({close}) => close(),
    );
    const addresses = {WAREHOUSE_URL: near.url, TRYTON_URL: `${far.url}${pathname}`};
    const {id} = await findParty('Through Another');
    const other = (await readCustomers()).find(({key}) => key !== String(id));

    for (let at = 1, isOver = false; !isOver; at++)
      for (const when of ['before', 'after']) {
        const name = `${at} ${when}`;
        await tryton.addParty({name: `Here ${name}`, phone: '555-0100'});
        await tryton.editParty(id, {phone: `555-01${at}`, city: name});
        await writeAtOffice([
          {operation: 'create', external_key: name, fields: {name: `There ${name}`}},
          {operation: 'update', number: other?.number, fields: {fax: name}},
        ]);
        requests = 0;
        Object.assign(plan, {at, when, victim: connect(['--once'], addresses)});
        const ended = await plan.victim?.ended;
        isOver = requests < at;
        expect(ended?.code, `${name}: ${ended?.stderr}`).toBe(isOver ? 0 : null);
        await level();
        await findParty(`Here ${name}`);
        await findParty(`There ${name}`);
        await expectLevel();
      }
    expect(
      await query(`SELECT FROM sync.changes WHERE state NOT IN ('done', 'cancelled')`),
    ).toEqual([]);
  }, 1_800_000);
});
