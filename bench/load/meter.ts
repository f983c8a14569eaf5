// Measures a program: its own CPU time, that of the Postgres beside it, WAL, memory and time. The
// shell reports the CPU time of its children; the rest is read from /proc, and without that the CPU
// time of Postgres and the memory are NaN.

import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import pg from 'pg';
import {startProgram} from '../../test/support/command.ts';
import type {OwnPostgres} from '../../test/support/own-postgres.ts';

/** The cost of one run. */
export interface Cost {
  readonly seconds: number;
  /** CPU time of the program, its children included, and of Postgres. */
  readonly program: number;
  readonly postgres: number;
  readonly walBytes: number;
  /** Of the program, without its children. */
  readonly peakMegabytes: number;
}

const lookMs = 20;
const ticksPerSecond = 100;
/** `0m1.234s`, as the shell's `times` has it: its own user and system, then its children's. */
const shellTime = /(\d+)m([\d.]+)s/g;

/** Measures programs that use a Postgres in which nothing else happens. */
export class Meter {
  readonly #client: pg.Client;
  /** The process of the server; null where /proc is missing. */
  readonly #pid: number | null;

  private constructor(client: pg.Client, pid: number | null) {
    this.#client = client;
    this.#pid = pid;
  }

  static async open({home, postgres}: OwnPostgres): Promise<Meter> {
    const client = new pg.Client(await postgres.url('postgres'));
    await client.connect();
    const [pid] = readFileSync(join(home, 'postgres', 'postmaster.pid'), 'utf8').split('\n');
    return new Meter(client, existsSync(`/proc/${pid}/stat`) ? Number(pid) : null);
  }

  /**
   * @param env - the whole environment of the program, beside PATH
   * @throws {Error} it ended with another code than 0: all that it printed
   */
  async run(
    program: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<Cost & {readonly stdout: string}> {
    let printed = '';
    let shell = '';
    let peakMegabytes = Number.NaN;
    const cost = await this.watch(async () => {
      const script = '"$@"; code=$?; times >&2; exit $code';
      const started = startProgram(['bash', '-c', script, 'bash', ...program], env);
      const looks = setInterval(() => {
        peakMegabytes = readPeak(started.process.pid) ?? peakMegabytes;
      }, lookMs);
      const {code, stdout, stderr} = await started.ended;
      clearInterval(looks);
      if (code !== 0)
        throw new Error(`${program.join(' ')} ended with ${code}: ${stdout}${stderr}`);
      [printed, shell] = [stdout, stderr];
    });
    const [, , user = Number.NaN, system = Number.NaN] = [...shell.matchAll(shellTime)]
      .slice(-4)
      .map(([, minutes, seconds]) => Number(minutes) * 60 + Number(seconds));
    return {...cost, program: user + system, peakMegabytes, stdout: printed};
  }

  /** Measures some work by Postgres and the clock. */
  async watch(
    work: () => Promise<unknown>,
  ): Promise<Pick<Cost, 'seconds' | 'postgres' | 'walBytes'>> {
    // Earlier writes do not count here, and each run begins with full-page images in the WAL.
    await this.#client.query('CHECKPOINT');
    const lsn = await this.#lsn();
    const cpu = this.#cpu();
    const startedAt = performance.now();
    await work();
    const seconds = (performance.now() - startedAt) / 1000;
    await this.#sessionsEnd();
    return {
      seconds,
      postgres: this.#cpu() - cpu,
      walBytes: Number(
        (await this.#client.query('SELECT pg_current_wal_lsn() - $1::pg_lsn AS bytes', [lsn]))
          .rows[0].bytes,
      ),
    };
  }

  async close(): Promise<void> {
    await this.#client.end();
  }

  async #lsn(): Promise<string> {
    return (await this.#client.query('SELECT pg_current_wal_lsn() AS lsn')).rows[0].lsn;
  }

  /** A session that has ended counts once its process is gone. */
  async #sessionsEnd(): Promise<void> {
    const others = `SELECT FROM pg_stat_activity
      WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()`;
    while ((await this.#client.query(others)).rowCount !== 0) await wait(lookMs);
  }

  /** Seconds of the server and all of its processes so far, those that are gone included. */
  #cpu(): number {
    if (this.#pid === null) return Number.NaN;
    const living = listChildren(this.#pid).map((pid) => sum(readTicks(pid).slice(0, 2)));
    return (sum(living) + sum(readTicks(this.#pid))) / ticksPerSecond;
  }
}

/** User and system time of a process, and of its children that have ended. */
function readTicks(pid: number): number[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')')).split(' ').slice(12, 16).map(Number);
  } catch {
    return [];
  }
}

function listChildren(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
      .split(' ')
      .filter(Boolean)
      .map(Number);
  } catch {
    return [];
  }
}

/** Megabytes that the program of a shell has had in memory at the most; null once it is gone. */
function readPeak(shell: number | undefined): number | null {
  const [pid] = listChildren(shell ?? 0);
  try {
    const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return kilobytes === undefined ? null : Number(kilobytes) / 1024;
  } catch {
    return null;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
