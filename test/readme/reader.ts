// A reader of a document who types in its blocks: commands into one shell for all, commands that
// stay into other shells, and SQL into a Postgres client.

import {type ChildProcess, spawn} from 'node:child_process';
import {existsSync} from 'node:fs';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {openEmbeddedPostgres} from '../../src/postgres/embedded.ts';
import {freePorts} from '../support/free-ports.ts';
import {SetUp} from '../support/set-up.ts';
import type {Block} from './blocks.ts';

const root = join(import.meta.dirname, '..', '..');
/** A command that keeps running, and the words after which the reader continues. */
const staying = /# keeps running.*when it prints "(.*)"$/;
/** The first has happened, or this test would not run; the second is happening. */
const underWay = [/^npm install && npm test\b.*$/, /^npm install && /];
/** The usual port of the HTTP API; on this machine another process may have it. */
const usualPort = '8086';

export interface Reader {
  /** Types the commands of a block, each when the one before has ended. @returns their output */
  type(block: Block): Promise<string>;
  /** Keeps what a statement told in variables of the shell, as a person would note it. */
  keep(names: readonly string[], values: readonly unknown[]): Promise<void>;
  /**
   * Opens a session as a user of the warehouse, with the password that a statement before has given
   * it.
   */
  connect(role: string): Promise<pg.Client>;
  /** Notes the passwords that a statement gives to users. */
  note(sql: string): void;
  close(): Promise<void>;
}

/** Opens a terminal in the project's folder, with an empty home for Fieldmirror. */
export async function openReader(): Promise<Reader> {
  const setUp = new SetUp();
  const home = await setUp.step(
    'making a home',
    () => mkdtemp(join(tmpdir(), 'fieldmirror-readme-')),
    removeHome,
  );
  const {port, shell} = await setUp.step(
    'opening a shell',
    async () => {
      await writeFile(join(home, '.curlrc'), 'silent\nshow-error\nfail-with-body\n');
      const env = {
        FIELDMIRROR_HOME: join(home, 'data'),
        FIELDMIRROR_DEMO_NIGHTS: '3',
        CURL_HOME: home,
        HOME: home,
      };
      const [port = 0] = await freePorts(1);
      return {port: String(port), shell: new Shell(env)};
    },
    (opened) => opened.shell.close(),
  );
  const passwords = new Map<string, string>();
  let client: pg.Client | null = null;
  const leave = async () => {
    await client?.end();
    client = null;
  };
  return {
    type: async (block) => {
      const printed: string[] = [];
      for (const {text, until} of readCommands(block, port)) {
        const output = await shell.run(text, until);
        printed.push(output);
        await shell.set(readVariables(output));
      }
      return printed.join('');
    },
    keep: async (names, values) => {
      await shell.set(new Map(names.map((name, at) => [name, String(values[at])])));
    },
    note: (sql) => {
      for (const [, role = '', password = ''] of sql.matchAll(
        /CREATE ROLE (\w+) LOGIN PASSWORD '([^']+)'/g,
      ))
        passwords.set(role, password);
    },
    connect: async (role) => {
      await leave();
      const place = `127.0.0.1:${shell.variables.get('PGPORT')}/warehouse`;
      const password =
        passwords.get(role) ??
        (await readFile(join(home, 'data', 'postgres.password'), 'utf8')).trim();
      client = new pg.Client({
        connectionString: `postgres://${role}:${password}@${place}`,
        application_name: 'psql',
      });
      await client.connect();
      return client;
    },
    close: async () => {
      await leave();
      await setUp.end();
    },
  };
}

/** A killed command has left its Postgres to the next one: here no other comes. */
async function removeHome(home: string): Promise<void> {
  const data = join(home, 'data');
  if (existsSync(join(data, 'postgres', 'postmaster.pid')))
    await (await openEmbeddedPostgres(data)).leave();
  await rm(home, {recursive: true, force: true});
}

/** A run of commands that end, or one that stays. */
interface Command {
  readonly text: string;
  /** The words at which the reader may go on; null of commands that end. */
  readonly until: string | null;
}

function readCommands(block: Block, port: string): Command[] {
  const commands: Command[] = [];
  let ending: string[] = [];
  for (const typed of block.text.split('\n')) {
    const line = underWay
      .reduce((rest, done) => rest.replace(done, ''), typed)
      .replace(`:${usualPort}/`, `:${port}/`);
    const [, until] = staying.exec(line) ?? [];
    if (until === undefined) {
      ending.push(line);
      continue;
    }
    const command = line.replace(/\s+#.*$/, '');
    commands.push({text: ending.join('\n'), until: null});
    commands.push({text: command.endsWith(' http') ? `${command} --port ${port}` : command, until});
    ending = [];
  }
  return [...commands, {text: ending.join('\n'), until: null}].filter(
    ({text}) => text.trim() !== '',
  );
}

/** The values that the document has the reader copy from the main job's output. */
function readVariables(output: string): Map<string, string> {
  const [, url, token] =
    /reference service at (\S+), made-up data\s+its token is (\S+)/.exec(output) ?? [];
  const [, port] = /embedded Postgres in .*, port (\d+)/.exec(output) ?? [];
  const found = {URL: url, TOKEN: token, PGPORT: port};
  return new Map(
    Object.entries(found).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** One bash for all blocks, so that an alias and a variable of one block are there in the next. */
class Shell {
  readonly variables = new Map<string, string>();
  readonly #bash: ChildProcess;
  readonly #folder: Promise<string> = mkdtemp(join(tmpdir(), 'fieldmirror-shell-'));
  #output = '';
  #hears: () => void = () => {};
  #runs = 0;

  constructor(env: Readonly<Record<string, string>>) {
    this.#bash = spawn('bash', ['--norc', '--noprofile'], {
      cwd: root,
      env: {PATH: process.env.PATH ?? '', TZ: 'UTC', LANG: 'C.UTF-8', ...env},
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const hear = (chunk: Buffer) => {
      this.#output += chunk.toString();
      this.#hears();
    };
    this.#bash.stdout?.on('data', hear);
    this.#bash.stderr?.on('data', hear);
    this.#bash.on('close', () => this.#hears());
    // Aliases work as at a person's prompt; each job has a group of its own, to be stopped as
    // Ctrl-C does.
    this.#write('shopt -s expand_aliases; set -m -o pipefail -o errtrace');
    this.#write(`trap 'echo "## ended with $?: $BASH_COMMAND"' ERR`);
  }

  async set(values: ReadonlyMap<string, string>): Promise<void> {
    for (const [name, value] of values) {
      this.variables.set(name, value);
      this.#write(`${name}='${value}'`);
    }
  }

  /**
   * @param until - words of a command that stays in a terminal of its own; null of commands that
   * end
   */
  async run(text: string, until: string | null): Promise<string> {
    const run = ++this.#runs;
    const file = join(await this.#folder, `${run}.sh`);
    await writeFile(file, `${text}\n`);
    const from = this.#output.length;
    if (until === null) this.#write(`source ${file} </dev/null; echo "## done ${run}"`);
    else this.#write(`source ${file} </dev/null &`);
    const end = until ?? `## done ${run}\n`;
    await this.#await(() => this.#output.includes(end, from));
    return this.#output.slice(from).replace(`## done ${run}\n`, '');
  }

  async #await(isThere: () => boolean): Promise<void> {
    await new Promise<void>((done, failed) => {
      this.#hears = () => {
        if (isThere()) done();
        else if (this.#bash.exitCode !== null)
          failed(new Error(`the shell ended: ${this.#output}`));
      };
      this.#hears();
    });
  }

  #write(line: string): void {
    this.#bash.stdin?.write(`${line}\n`);
  }

  async close(): Promise<void> {
    if (this.#bash.exitCode === null) {
      const ended = new Promise((done) => this.#bash.once('close', done));
      this.#write('for job in $(jobs -p); do kill -INT -- -$job; done; wait; exit');
      await ended;
    }
    await rm(await this.#folder, {recursive: true, force: true});
  }
}
