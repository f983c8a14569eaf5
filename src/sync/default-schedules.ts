import type {StreamName} from '../streams/stream.ts';
import type {SchedulePlan} from '../warehouse/schedules.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Full sweeps run when nobody works: from three in the morning at the account, one stream after the other. */
const nightlyHour = 3;
const nightly: readonly StreamName[] = ['customers', 'jobs', 'tasks'];
const windows: readonly {stream: StreamName; window: string; everyMs: number}[] = [
  {stream: 'jobs', window: 'in_progress', everyMs: 5 * minuteMs},
  {stream: 'jobs', window: 'today', everyMs: 5 * minuteMs},
  {stream: 'jobs', window: 'tomorrow', everyMs: 15 * minuteMs},
  {stream: 'jobs', window: 'this_week', everyMs: 30 * minuteMs},
  {stream: 'tasks', window: 'open', everyMs: 10 * minuteMs},
];

/**
 * The schedules that an account begins with. Afterwards they are rows of sync.schedules, to be changed there.
 * @param now - the present moment
 * @param timeZone - the account's IANA zone. The nightly hour is fixed in UTC by today's offset: a change of clocks
 *   moves it by an hour and never skips or repeats it
 */
export function planSchedules(now: Date, timeZone: string): SchedulePlan[] {
  const night = nextNight(now, timeZone).getTime();
  const full = nightly.map((stream, at) => ({
    name: `${stream} nightly`,
    stream,
    mode: 'full' as const,
    windowName: null,
    everyMs: dayMs,
    firstDueAt: new Date(night + at * 5 * minuteMs).toISOString(),
  }));
  const employees = {
    name: 'employees hourly',
    stream: 'employees',
    mode: 'full' as const,
    windowName: null,
    everyMs: hourMs,
    firstDueAt: new Date(now.getTime() + hourMs).toISOString(),
  };
  const fresh = windows.map(({stream, window, everyMs}) => ({
    name: `${stream} ${window}`,
    stream,
    mode: 'window' as const,
    windowName: window,
    everyMs,
    firstDueAt: new Date(now.getTime() + everyMs).toISOString(),
  }));
  return [...full, employees, ...fresh];
}

function nextNight(now: Date, timeZone: string): Date {
  const hour = Number(
    new Intl.DateTimeFormat('en', {timeZone, hour: 'numeric', hourCycle: 'h23'}).format(now),
  );
  const minutesPast = now.getTime() % hourMs;
  const hoursAhead = (nightlyHour - hour + 24) % 24 || 24;
  return new Date(now.getTime() - minutesPast + hoursAhead * hourMs);
}
