// A real Tryton with the module of examples/tryton, on a database of its own, and its connector as
// a process. TRYTON_PYTHON names a folder with the packages of the example's requirements:
// python3 -m pip install --target FOLDER -r examples/tryton/requirements.txt ./examples/tryton

import {spawnSync} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {type Running, startProgram} from '../support/command.ts';
import {freePorts} from '../support/free-ports.ts';
import {createDatabase} from '../support/postgres.ts';
import {kill, tie} from '../support/server-process.ts';

export const packages = process.env.TRYTON_PYTHON;
const example = join(import.meta.dirname, '..', '..', 'examples', 'tryton');

/** The module as it is here comes before the installed one. */
const pythonEnv = {
  PYTHONPATH: `${example}:${packages ?? ''}`,
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONUNBUFFERED: '1',
};

/** What a party has of a customer, in the words of Tryton. */
export interface PartyValues {
  readonly name: string;
  readonly phone?: string;
  readonly fax?: string;
  readonly email?: string;
  readonly street?: string;
  readonly city?: string;
}

/** A party as a clerk sees it. */
export interface Party extends Required<PartyValues> {
  readonly id: number;
  readonly active: boolean;
  readonly fieldService: boolean;
  readonly problem: string | null;
}

export interface TrytonPlace {
  /** Where its RPC answers. */
  readonly url: string;
  /** Calls a method of a model, as a clerk who may edit parties and nothing of the connector. */
  clerk(model: string, method: string, ...values: readonly unknown[]): Promise<unknown>;
  addParty(values: PartyValues, isCustomer?: boolean): Promise<number>;
  editParty(id: number, values: Partial<PartyValues>): Promise<void>;
  readParties(): Promise<Party[]>;
  readParty(id: number): Promise<Party>;
  start(): Promise<void>;
  /** Kills the server. */
  stop(): Promise<void>;
  /** Runs the connector. @param env - addresses in place of the usual ones */
  connector(args: readonly string[], env: Readonly<Record<string, string>>): Running;
  close(): Promise<void>;
}

export async function openTryton(): Promise<TrytonPlace> {
  const database = await createDatabase();
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-tryton-'));
  const [port = 0] = await freePorts(1);
  const {pathname} = new URL(database.url);
  const url = `http://127.0.0.1:${port}${pathname}`;
  const config = join(folder, 'trytond.conf');
  const passwords = {admin: makePassword(), clerk: makePassword(), connector: makePassword()};
  const uri = Object.assign(new URL(database.url), {protocol: 'postgresql:', pathname: '/'}).href;
  await writeFile(
    config,
    `[database]\nuri = ${uri}\n[web]\nlisten = 127.0.0.1:${port}\n[cache]\nclean_timeout = 0\n`,
  );
  await writeFile(join(folder, 'password'), passwords.admin);
  init(config, pathname.slice(1), join(folder, 'password'));

  let server: Running | null = null;
  const call = async (user: keyof typeof passwords, method: string, values: readonly unknown[]) => {
    const login = Buffer.from(`${user}:${passwords[user]}`).toString('base64');
    const answer = await fetch(`${url}/rpc/`, {
      method: 'POST',
      headers: {'Content-Type': 'application/json', Authorization: `Basic ${login}`},
      body: JSON.stringify({id: 0, method, params: [...values, {}]}),
    });
    if (!answer.ok) throw new Error(`Tryton: ${answer.status} ${await answer.text()}`);
    const {result, error} = (await answer.json()) as {result?: unknown; error?: unknown};
    if (error !== undefined) throw new Error(`Tryton: ${JSON.stringify(error)}`);
    return result;
  };
  const start = async () => {
    const program = join(packages ?? '', 'bin', 'trytond');
    const line = ['python3', program, '-c', config, '-d', pathname.slice(1)];
    server = startProgram(line, pythonEnv);
    tie(server.process);
    await server.prints(/Running on/);
  };
  const stop = async () => {
    if (server !== null) await kill(server.process);
  };
  await start();
  const groups = await call('admin', 'model.res.group.search', [
    [['name', '=', 'Fieldmirror connector']],
  ]);
  await call('admin', 'model.res.user.create', [
    [
      {name: 'Clerk', login: 'clerk', password: passwords.clerk},
      {
        name: 'Connector',
        login: 'connector',
        password: passwords.connector,
        groups: [['add', groups]],
      },
    ],
  ]);
  return {
    url,
    start,
    stop,
    ...asClerk((model, method, ...values) => call('clerk', `model.${model}.${method}`, values)),
    connector: (args, env) =>
      startProgram(['python3', join(example, 'connector.py'), ...args], {
        ...pythonEnv,
        TRYTON_URL: url,
        TRYTON_USER: 'connector',
        TRYTON_PASSWORD: passwords.connector,
        ...env,
      }),
    close: async () => {
      await stop();
      await database.drop();
      await rm(folder, {recursive: true, force: true});
    },
  };
}

/** Makes the tables of Tryton and activates the modules. */
function init(config: string, database: string, passwordFile: string): void {
  const program = join(packages ?? '', 'bin', 'trytond-admin');
  const options = ['-c', config, '-d', database, '--email', 'admin@example.com'];
  const {status, stderr} = spawnSync(
    'python3',
    [program, ...options, '-u', 'fieldmirror', '--activate-dependencies'],
    {encoding: 'utf8', env: {...process.env, ...pythonEnv, TRYTONPASSFILE: passwordFile}},
  );
  if (status !== 0) throw new Error(`trytond-admin ended with ${status}: ${stderr}`);
}

function makePassword(): string {
  return randomBytes(18).toString('base64url');
}

interface PartyRow {
  readonly id: number;
  readonly name: string | null;
  readonly phone: string;
  readonly fax: string;
  readonly email: string;
  readonly active: boolean;
  readonly field_service: boolean;
  readonly fieldmirror_problem: string | null;
  readonly addresses: readonly number[];
}

/** What a clerk does with the client of Tryton: the calls that it makes. */
function asClerk(clerk: TrytonPlace['clerk']) {
  const readParties = async () => {
    const ids = await clerk('party.party', 'search', [['active', 'in', [true, false]]]);
    const rows = (await clerk('party.party', 'read', ids, [
      ...[
        'name',
        'phone',
        'fax',
        'email',
        'active',
        'field_service',
        'fieldmirror_problem',
        'addresses',
      ],
    ])) as PartyRow[];
    const addresses = (await clerk(
      'party.address',
      'read',
      rows.flatMap((row) => row.addresses),
      ['street', 'city'],
    )) as {id: number; street: string | null; city: string | null}[];
    return rows
      .map(({field_service: fieldService, fieldmirror_problem: problem, ...row}): Party => {
        const address = addresses.find(({id}) => id === row.addresses[0]);
        const {id, name, phone, fax, email, active} = row;
        const [street, city] = [address?.street ?? '', address?.city ?? ''];
        const values = {name: name ?? '', phone, fax, email, street, city};
        return {id, ...values, active, fieldService, problem};
      })
      .sort((one, other) => one.id - other.id);
  };
  return {
    clerk,
    readParties,
    readParty: async (id: number) => {
      const found = (await readParties()).find((party) => party.id === id);
      if (found === undefined) throw new Error(`Tryton has no party ${id}`);
      return found;
    },
    addParty: async ({name, street, city, ...others}: PartyValues, isCustomer = true) => {
      const mechanisms = Object.entries(others).map(([type, value]) => ({type, value}));
      const [id] = (await clerk('party.party', 'create', [
        {
          name,
          field_service: isCustomer,
          addresses: [['create', [{street: street ?? null, city: city ?? null}]]],
          contact_mechanisms: [['create', mechanisms]],
        },
      ])) as number[];
      if (id === undefined) throw new Error('Tryton made no party');
      return id;
    },
    editParty: async (id: number, {name, street, city, ...others}: Partial<PartyValues>) => {
      if (name !== undefined) await clerk('party.party', 'write', [id], {name});
      for (const [type, value] of Object.entries(others)) {
        const held = (await clerk('party.contact_mechanism', 'search', [
          ['party', '=', id],
          ['type', '=', type],
        ])) as number[];
        if (held.length > 0) await clerk('party.contact_mechanism', 'write', held, {value});
        else await clerk('party.contact_mechanism', 'create', [{party: id, type, value}]);
      }
      const address = Object.fromEntries(
        Object.entries({street, city}).filter(([, value]) => value !== undefined),
      );
      if (Object.keys(address).length === 0) return;
      const held = (await clerk('party.address', 'search', [['party', '=', id]])) as number[];
      await clerk('party.address', 'write', held.slice(0, 1), address);
    },
  };
}
