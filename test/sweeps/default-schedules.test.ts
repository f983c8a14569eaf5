import {expect, test} from 'vitest';
import {allStreams} from '../../src/streams/all.ts';
import {planSchedules} from '../../src/sweeps/schedules.ts';

const now = new Date('2026-11-02T17:20:00Z');
const zones = ['America/New_York', 'Europe/Berlin', 'Asia/Kathmandu', 'UTC'];

test.each(zones)(
  'full sweeps are scheduled between three and six in the morning in %s',
  (timeZone) => {
    for (let accountId = 0; accountId < 50; accountId++) {
      for (const {name, firstDueAt} of planSchedules(now, timeZone, String(accountId))) {
        if (!name.includes('nightly')) continue;
        const format = new Intl.DateTimeFormat('en', {timeZone, hour: 'numeric', hourCycle: 'h23'});
        expect(Number(format.format(new Date(firstDueAt)))).toBeGreaterThanOrEqual(3);
        expect(Number(format.format(new Date(firstDueAt)))).toBeLessThanOrEqual(5);
      }
    }
  },
);

test('every schedule is first due within its interval and three hours, not at once', () => {
  for (const accountId of ['1', '2', '200', '9007199254740991']) {
    for (const {everyMs, firstDueAt} of planSchedules(now, 'UTC', accountId)) {
      const inMs = Date.parse(firstDueAt) - now.getTime();
      expect(inMs).toBeGreaterThan(0);
      expect(inMs).toBeLessThanOrEqual(everyMs + 3 * 3_600_000);
    }
  }
});

test.each([
  ['America/New_York', '2026-03-06T12:00:00Z'],
  ['America/New_York', '2026-10-30T12:00:00Z'],
  ['Australia/Lord_Howe', '2026-04-03T12:00:00Z'],
  ['Europe/Berlin', '2026-03-27T12:00:00Z'],
])(
  'across the clock change in %s after %s, full sweeps are due once each night',
  (timeZone, before) => {
    const format = new Intl.DateTimeFormat('en-CA', {
      timeZone,
      dateStyle: 'short',
      timeStyle: 'short',
      hourCycle: 'h23',
    });
    for (const {name, firstDueAt, everyMs} of planSchedules(new Date(before), timeZone)) {
      if (!name.includes('nightly')) continue;
      const turns = Array.from({length: 5}, (_, at) =>
        format.format(Date.parse(firstDueAt) + at * everyMs),
      );
      expect(new Set(turns.map((turn) => turn.slice(0, 10))).size, name).toBe(5);
      for (const turn of turns) expect(Number(/(\d\d):/.exec(turn)?.[1])).toBeLessThanOrEqual(6);
    }
  },
);

test('of two hundred accounts in one zone, at most three are due in the same minute', () => {
  const minutes = new Map<string, number>();
  for (let accountId = 1; accountId <= 200; accountId++) {
    const nightly = planSchedules(now, 'UTC', String(accountId)).find(
      ({name}) => name === 'jobs nightly',
    );
    const minute = nightly?.firstDueAt.slice(0, 16) ?? '';
    minutes.set(minute, (minutes.get(minute) ?? 0) + 1);
  }
  expect(Math.max(...minutes.values())).toBeLessThanOrEqual(3);
});

test('the schedules of an account get the same times each time', () => {
  expect(planSchedules(now, 'UTC', '7')).toEqual(planSchedules(now, 'UTC', '7'));
});

test('every window of every stream is scheduled more often than its full sweep', () => {
  const plans = planSchedules(now, 'UTC');
  for (const {name, windows} of allStreams) {
    const full = plans.find(({stream, mode}) => stream === name && mode === 'full');
    for (const window of Object.keys(windows)) {
      const plan = plans.find(({stream, windowName}) => stream === name && windowName === window);
      expect(plan?.everyMs, `${name} ${window}`).toBeLessThan(full?.everyMs ?? 0);
    }
  }
});
