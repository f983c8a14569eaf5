// Tries mutants one after another in a copy of the checkout, so that no fault is ever in the
// checkout itself.

import {type ChildProcess, execFileSync, fork} from 'node:child_process';
import {once} from 'node:events';
import {cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync} from 'node:fs';
import {dirname, join} from 'node:path';
import {setTimeout as pause} from 'node:timers/promises';
import {temporaryFolder} from '../support/temporary-folder.ts';
import {type Mutant, root} from './mutants.ts';
import type {TestRequest} from './runner.ts';

export type Fate = 'killed' | 'survived' | 'timed out';

/** Tests with a fault may take this long, and several times as long as they take without it. */
const patienceMs = 10_000;
const patienceFactor = 4;

export class Lane {
  readonly #folder = mkdtempSync(join(temporaryFolder(), 'fieldmirror-mutants-'));
  readonly #usualMs = new Map<string, number>();
  #runner: ChildProcess | null = null;
  #hasServers = false;

  constructor() {
    const listed = execFileSync('git', ['ls-files', '-z', '-co', '--exclude-standard'], {
      cwd: root,
    });
    for (const path of listed
      .toString()
      .split('\0')
      .filter((name) => name !== '')) {
      mkdirSync(dirname(join(this.#folder, path)), {recursive: true});
      cpSync(join(root, path), join(this.#folder, path), {force: true});
    }
    symlinkSync(join(root, 'node_modules'), join(this.#folder, 'node_modules'));
  }

  /**
   * Runs the tests of a mutant with its fault.
   * @throws the tests fail without it
   */
  async try(mutant: Mutant): Promise<Fate> {
    const {source, tests, original, text} = mutant;
    const usualMs = this.#usualMs.get(source) ?? (await this.#measure(mutant));
    writeFileSync(join(this.#folder, source), text);
    const hasPassed = await this.#run({source, tests}, patienceMs + patienceFactor * usualMs);
    writeFileSync(join(this.#folder, source), original);
    if (hasPassed === 'timed out') return 'timed out';
    return hasPassed ? 'survived' : 'killed';
  }

  async #measure({source, tests}: Mutant): Promise<number> {
    const began = performance.now();
    const hasPassed = await this.#run({source, tests}, 10 * 60_000);
    if (hasPassed !== true) throw new Error(`without a fault, the tests fail: ${tests.join(' ')}`);
    const usualMs = performance.now() - began;
    this.#usualMs.set(source, usualMs);
    return usualMs;
  }

  async #run(request: TestRequest, patience: number): Promise<boolean | 'timed out'> {
    const runner = await this.#start(request.tests.some((name) => name.includes('.pg.')));
    const waiting = new AbortController();
    runner.send(request);
    const answer = await Promise.race([
      once(runner, 'message', {signal: waiting.signal}).then(
        ([passed]) => passed as boolean | null,
      ),
      once(runner, 'exit', {signal: waiting.signal}).then(() => null),
      pause(patience, 'timed out' as const, {signal: waiting.signal}),
    ]);
    waiting.abort();
    // A runner that stands still, or that failed itself, is replaced.
    if (typeof answer !== 'boolean') await this.#end();
    return answer ?? false;
  }

  async #start(needsServers: boolean): Promise<ChildProcess> {
    if (this.#runner !== null && (this.#hasServers || !needsServers)) return this.#runner;
    await this.#end();
    const options = needsServers ? [] : ['--no-servers'];
    this.#runner = fork(join(this.#folder, 'test/mutants/runner.ts'), options, {
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    this.#hasServers = needsServers;
    await once(this.#runner, 'message');
    return this.#runner;
  }

  async #end(): Promise<void> {
    const runner = this.#runner;
    this.#runner = null;
    if (runner === null || runner.exitCode !== null || runner.signalCode !== null) return;
    const ended = once(runner, 'exit');
    runner.disconnect();
    const hasEnded = await Promise.race([ended.then(() => true), pause(30_000, false)]);
    if (hasEnded) return;
    runner.kill('SIGKILL');
    await ended;
  }

  async close(): Promise<void> {
    await this.#end();
    rmSync(this.#folder, {recursive: true, force: true});
  }
}
