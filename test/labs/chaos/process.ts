// A process of the product under a supervisor, which restarts it whatever ended it.

import {setTimeout as wait} from 'node:timers/promises';
import {type Running, startCommand} from '../../support/command.ts';

/** One life of a process. */
export interface Life {
  readonly name: string;
  readonly pid: number;
  /** Null when it was killed. */
  readonly code: number | null;
  /** Whether the torture ended it. */
  readonly isAsked: boolean;
  readonly said: string;
}

const restartAfterMs = 500;
/** The time that a process has to end after a stop. */
const mostStopMs = 30_000;
const lettersKept = 4_000;

export class Supervised {
  readonly name: string;
  /** Lives that are over. */
  readonly lives: Life[] = [];
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  readonly #secrets: readonly string[];
  /** Lines of any life in which a secret stands. */
  readonly leaks: string[] = [];
  #running: Running | null = null;
  #isWanted = false;
  #isAsked = false;
  #pausedUntil: Promise<unknown> = Promise.resolve();
  #loop: Promise<void> = Promise.resolve();

  constructor(
    name: string,
    command: {
      readonly args: readonly string[];
      readonly env: Readonly<Record<string, string>>;
      readonly secrets: readonly string[];
    },
  ) {
    this.name = name;
    this.#args = command.args;
    this.#env = command.env;
    this.#secrets = command.secrets;
  }

  /** Null while it is down. */
  get pid(): number | null {
    return this.#running?.process.pid ?? null;
  }

  get isUp(): boolean {
    return this.#running !== null;
  }

  start(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    this.#loop = this.#supervise();
  }

  /** Resolves when this life, or the next, prints a match. */
  async prints(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = await this.#running?.prints(pattern).catch(() => null);
      if (found !== null && found !== undefined) return found;
      await wait(restartAfterMs);
    }
  }

  /** Ends it with kill -9; it comes back after so long. */
  kill(downMs = 0): void {
    this.#isAsked = true;
    this.#pausedUntil = wait(downMs);
    this.#running?.process.kill('SIGKILL');
  }

  /** Stops it with SIGTERM. @returns whether it ended by itself in time */
  async restart(): Promise<boolean> {
    const running = this.#running;
    if (running === null) return true;
    this.#isAsked = true;
    running.process.kill('SIGTERM');
    const timely = new AbortController();
    const late = wait(mostStopMs, 'late' as const, {signal: timely.signal}).catch(
      () => 'ended' as const,
    );
    const end = await Promise.race([running.ended.then(() => 'ended' as const), late]);
    timely.abort();
    if (end === 'late') running.process.kill('SIGKILL');
    return end === 'ended';
  }

  /** Sends SIGSTOP, and SIGCONT after so long. */
  async stopFor(ms: number): Promise<void> {
    const process = this.#running?.process;
    process?.kill('SIGSTOP');
    await wait(ms);
    process?.kill('SIGCONT');
  }

  /** Ends it for good. */
  async end(): Promise<boolean> {
    this.#isWanted = false;
    this.#running?.process.kill('SIGCONT');
    const isTimely = await this.restart();
    await this.#loop;
    return isTimely;
  }

  async #supervise(): Promise<void> {
    while (this.#isWanted) {
      this.#isAsked = false;
      const running = startCommand(this.#args, this.#env);
      this.#running = running;
      const {code, stdout, stderr} = await running.ended;
      this.#running = null;
      const lines = `${stdout}\n${stderr}`.split('\n');
      this.leaks.push(
        ...lines.filter((line) => this.#secrets.some((secret) => line.includes(secret))),
      );
      const {name} = this;
      const said = stderr.slice(-lettersKept);
      this.lives.push({name, pid: running.process.pid ?? 0, code, isAsked: this.#isAsked, said});
      if (!this.#isWanted) return;
      await Promise.all([this.#pausedUntil, wait(restartAfterMs)]);
    }
  }
}
