import cliProgress from 'cli-progress';

/** Shows how far the sweeps are: bars on a terminal, nothing elsewhere (the lines at the end of each say it all). */
export interface Progress {
  /** @param expected - rows held before, the best guess at a total that the service does not tell; 0 when unknown */
  begin(stream: string, expected: number): void;
  advance(progress: {readonly stream: string; readonly records: number}): void;
  end(stream: string, line: string): void;
  close(): void;
}

/** @param isQuiet - prints nothing at all: the caller prints JSON */
export function watchProgress(isQuiet: boolean): Progress {
  if (isQuiet) return {begin: () => {}, advance: () => {}, end: () => {}, close: () => {}};
  return process.stdout.isTTY ? drawBars() : printLines();
}

function printLines(): Progress {
  return {
    begin: () => {},
    advance: () => {},
    end: (_stream, line) => process.stdout.write(`${line}\n`),
    close: () => {},
  };
}

function drawBars(): Progress {
  const bars = new cliProgress.MultiBar(
    {format: '{stream} {bar} {value} records', hideCursor: true, clearOnComplete: false, barsize: 32},
    cliProgress.Presets.shades_classic,
  );
  const drawn = new Map<string, cliProgress.SingleBar>();
  return {
    begin: (stream, expected) => drawn.set(stream, bars.create(expected, 0, {stream: stream.padEnd(10)})),
    advance: ({stream, records}) => {
      const bar = drawn.get(stream);
      if (bar === undefined) return;
      // A first sweep has no total: the bar grows with what has come.
      bar.setTotal(Math.max(bar.getTotal(), records));
      bar.update(records);
    },
    end: () => {},
    close: () => bars.stop(),
  };
}
