import cliProgress from 'cli-progress';
import {tell, toPrintable} from '../../base/terminal.ts';
import {formatNumber} from '../../views/format.ts';
import {tellStep} from './tell-step.ts';

/** Shows how far the sweeps are: bars on a terminal, a line at the beginning and the end of each elsewhere. */
export interface Progress {
  /** @param expected - rows held before, the best guess at a total that the service does not tell; 0 when unknown */
  begin(stream: string, expected: number): void;
  advance(progress: {readonly stream: string; readonly records: number}): void;
  end(stream: string, line: string): void;
  close(): void;
}

/** The facts of a bar beside its value and its total. */
interface Facts {
  readonly stream: string;
  /** 0 when unknown. */
  readonly expected: number;
  /** How the sweep ended; null while it is under way. */
  readonly end: string | null;
}

const barWidth = 32;

/** @param isQuiet - prints nothing at all: the caller prints JSON */
export function watchProgress(isQuiet: boolean): Progress {
  if (isQuiet) return {begin: () => {}, advance: () => {}, end: () => {}, close: () => {}};
  return process.stdout.isTTY ? drawBars(process.stdout) : printLines();
}

function printLines(): Progress {
  return {
    begin: (stream) => tellStep(`sweeping ${stream}`),
    advance: () => {},
    end: (_stream, line) => tell(`${line}\n`),
    close: () => {},
  };
}

/** One line a stream, in place. @param terminal - where they are drawn */
export function drawBars(terminal: NodeJS.WritableStream): Progress {
  const bars = new cliProgress.MultiBar({
    format: (_options, {value}, facts: Facts) => drawLine(value, facts),
    hideCursor: true,
    clearOnComplete: false,
    stream: terminal,
  });
  const drawn = new Map<string, cliProgress.SingleBar>();
  const close = () => {
    if (bars.isActive) bars.stop();
  };
  return {
    begin: (stream, expected) =>
      drawn.set(stream, bars.create(expected, 0, {stream, expected, end: null} satisfies Facts)),
    advance: ({stream, records}) => drawn.get(stream)?.update(records),
    end: (stream, end) => drawn.get(stream)?.update({end}),
    close,
  };
}

/** A stream that was never swept has no known total and no bar: an empty or a full one would be a claim. */
function drawLine(records: number, {stream, expected, end}: Facts): string {
  if (end !== null) return toPrintable(end);
  const name = stream.padEnd(10);
  if (expected === 0) return `${name} ${formatNumber(records)} records so far`;
  const filled = Math.min(barWidth, Math.floor((records / expected) * barWidth));
  const bar = '█'.repeat(filled) + '░'.repeat(barWidth - filled);
  return `${name} ${bar} ${formatNumber(records)} of about ${formatNumber(expected)} records`;
}
