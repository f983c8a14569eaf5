// Loaded before a program (`node --import`), it sets the clock of the process wrong by
// CLOCK_OFF_MS; SIGUSR2 makes it jump forth by CLOCK_JUMP_MS, and back the next time. Clocks for
// spans of time stay right, as they do with a wrong clock.

const RightDate = Date;
const offMs = Number(process.env.CLOCK_OFF_MS ?? 0);
const jumpMs = Number(process.env.CLOCK_JUMP_MS ?? 0);
let jumpedMs = 0;

const now = () => RightDate.now() + offMs + jumpedMs;

class WrongDate extends RightDate {
  constructor(...given: [] | [string | number | Date]) {
    super(...((given.length === 0 ? [now()] : given) as [number]));
  }

  static override now(): number {
    return now();
  }
}

if (offMs !== 0 || jumpMs !== 0) {
  globalThis.Date = WrongDate as DateConstructor;
  process.on('SIGUSR2', () => {
    jumpedMs = jumpedMs === 0 ? jumpMs : 0;
  });
}
