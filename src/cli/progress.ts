// The progress of long work, on a terminal and in a log.

import cliProgress from 'cli-progress';
import {describePace, paceOf} from '../core/format.ts';
import {
  canDraw,
  printErr,
  printFolded,
  printKeystrokes,
  printStep,
  toPrintable,
} from '../core/text.ts';

/**
 * Shows how far the sweeps are, how fast they are and how long they will take. On a terminal it
 * shows bars; elsewhere a line at the beginning and the end of each sweep, and some between if it
 * takes long.
 */
export interface Progress {
  /**
   * @param expected - rows held before, the best estimate of a total that the service does not
   *   give; 0 if unknown
   */
  begin(stream: string, expected: number): void;
  advance(progress: {readonly stream: string; readonly records: number}): void;
  end(stream: string, line: string): void;
  /** Prints at once which process the verb waits for, even if JSON is printed. */
  note(line: string): void;
  close(): void;
}

/** Milliseconds on a clock that never goes back. */
type Clock = () => number;

/** The facts of a bar beside its value and its total. */
interface Facts {
  readonly name: string;
  /** Its progress, in words. */
  readonly far: string;
  /** 0 if unknown. */
  readonly expected: number;
  /** How it ended; null while it is in progress. */
  readonly end: string | null;
}

const barWidth = 32;
/** Often enough that silence does not look like a fault, and rare enough not to fill a log. */
const lineEveryMs = 10_000;
const machineClock: Clock = () => performance.now();

/** @param isQuiet - prints nothing at all: the caller prints JSON */
export function watchProgress(isQuiet: boolean): Progress {
  if (isQuiet)
    return {begin: () => {}, advance: () => {}, end: () => {}, note: printStep, close: () => {}};
  return canDraw(process.stdout) ? formatBars(process.stdout) : printLines();
}

/** Results go to standard output, steps to standard error. */
export function printLines(
  clock = machineClock,
  printLine: (line: string) => void = printStep,
): Progress {
  const runs = new Map<
    string,
    {readonly beganAt: number; readonly expected: number; toldAt: number}
  >();
  return {
    begin: (stream, expected) => {
      const beganAt = clock();
      runs.set(stream, {beganAt, expected, toldAt: beganAt});
      printLine(`sweeping ${stream}`);
    },
    advance: ({stream, records}) => {
      const run = runs.get(stream);
      if (run === undefined || clock() - run.toldAt < lineEveryMs) return;
      run.toldAt = clock();
      printLine(
        `sweeping ${stream}: ${describeRecords(records, run.expected, run.toldAt - run.beganAt)}`,
      );
    },
    end: (_stream, line) => printFolded(`${line}\n`),
    note: (line) => printLine(line),
    close: () => {},
  };
}

/** One line for each stream, updated in place. @param terminal - the output for the bars */
export function formatBars(terminal: NodeJS.WritableStream, clock = machineClock): Progress {
  const bars = openBars(terminal);
  const runs = new Map<
    string,
    {readonly bar: cliProgress.SingleBar; beganAt: number | null; expected: number}
  >();
  return {
    begin: (stream, expected) => {
      const far = describeRecords(0, expected, 0);
      const facts: Facts = {name: stream.padEnd(10), far, expected, end: null};
      runs.set(stream, {bar: bars.create(expected, 0, facts), beganAt: null, expected});
    },
    advance: ({stream, records}) => {
      const run = runs.get(stream);
      if (run === undefined) return;
      // Sweeps wait for one another, so the time of one begins with its first batch.
      run.beganAt ??= clock();
      run.bar.update(records, {
        far: describeRecords(records, run.expected, clock() - run.beganAt),
      });
    },
    end: (stream, end) => runs.get(stream)?.bar.update({end}),
    note: (line) => bars.log(`${toPrintable(line)} …\n`),
    close: () => {
      if (bars.isActive) bars.stop();
    },
  };
}

/** A total that was exceeded is not shown as a total. */
function describeRecords(done: number, expected: number, elapsedMs: number): string {
  return describePace(paceOf({done, total: expected === 0 ? null : expected, elapsedMs}), {
    things: 'records',
  });
}

/** Shows the progress of a push: a bar on a terminal, elsewhere a line every ten seconds. */
export interface PushProgress {
  /** @param due - the number of changes to send */
  begin(account: string, due: number): void;
  advance(): void;
  close(): void;
}

/** @param isQuiet - prints nothing at all: the caller prints JSON */
export function watchPush(isQuiet: boolean): PushProgress {
  if (isQuiet) return {begin: () => {}, advance: () => {}, close: () => {}};
  return canDraw(process.stdout) ? formatPushBar(process.stdout) : printPushLines(tickEach);
}

export function formatPushBar(terminal: NodeJS.WritableStream, clock = machineClock): PushProgress {
  const bars = openBars(terminal);
  let bar: cliProgress.SingleBar | null = null;
  let state = {done: 0, total: 0, beganAt: 0};
  return {
    begin: (account, due) => {
      state = {done: 0, total: due, beganAt: clock()};
      const far = describeChanges(state, 0);
      if (due > 0)
        bar = bars.create(due, 0, {name: account, far, expected: due, end: null} satisfies Facts);
    },
    advance: () => {
      state.done++;
      bar?.update(state.done, {far: describeChanges(state, clock() - state.beganAt)});
    },
    close: () => {
      if (bars.isActive) bars.stop();
    },
  };
}

/** Calls a function at intervals. @returns a function that ends the calls */
type Tick = (call: () => void, everyMs: number) => () => void;

const tickEach: Tick = (call, everyMs) => {
  const timer = setInterval(call, everyMs).unref();
  return () => clearInterval(timer);
};

/**
 * A line is printed even if no change was finished: a change that takes a minute is shown as in
 * progress.
 */
export function printPushLines(
  tick: Tick,
  clock = machineClock,
  printText: (text: string) => void = printErr,
): PushProgress {
  let state = {done: 0, total: 0, beganAt: 0};
  let end = () => {};
  return {
    begin: (account, due) => {
      end();
      state = {done: 0, total: due, beganAt: clock()};
      const line = () =>
        printText(`pushing ${account}: ${describeChanges(state, clock() - state.beganAt)} …\n`);
      if (due > 0) end = tick(line, lineEveryMs);
    },
    advance: () => void state.done++,
    close: () => end(),
  };
}

/** Changes made meanwhile are sent, too, and counted. */
function describeChanges(
  {done, total}: {readonly done: number; readonly total: number},
  elapsedMs: number,
): string {
  return describePace(paceOf({done, total: Math.max(done, total), elapsedMs}), {
    things: 'changes',
    isExact: true,
  });
}

function openBars(terminal: NodeJS.WritableStream): cliProgress.MultiBar {
  return new cliProgress.MultiBar({
    format: (_options, {value}, facts: Facts) => formatLine(value, facts),
    hideCursor: true,
    clearOnComplete: false,
    stream: terminal,
  });
}

/**
 * A stream that was never swept has no known total and no bar: an empty or a full bar would be a
 * false claim.
 */
function formatLine(value: number, {name, far, expected, end}: Facts): string {
  if (end !== null) return toPrintable(end);
  if (expected === 0) return toPrintable(`${name} ${far}`);
  const filled = Math.min(barWidth, Math.floor((value / expected) * barWidth));
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled);
  return toPrintable(`${name} ${bar} ${far}`);
}

/** A step that consists of equal parts. */
export interface Counter {
  /** @param done - the number of parts that are done */
  at(done: number): void;
  end(): void;
}

/** The output that shows a counter. */
export interface Screen {
  readonly isTerminal: boolean;
  draw(chunk: Uint8Array): void;
}

const machineScreen: Screen = {isTerminal: canDraw(process.stderr), draw: printKeystrokes};

/**
 * Prints the name of a step before it begins, and on a terminal counts on the same line how far it
 * is. Elsewhere it prints only the name, as `printStep` does.
 * @param step - our own text, printed as it is
 */
export function countSteps(step: string, total: number, screen: Screen = machineScreen): Counter {
  if (!screen.isTerminal) {
    printStep(step);
    return {at: () => {}, end: () => {}};
  }
  const draw = (text: string) => screen.draw(Buffer.from(text));
  draw(`${step} …`);
  return {
    at: (done) => draw(`\r${step}: ${done} of ${total} …`),
    end: () => draw('\n'),
  };
}
