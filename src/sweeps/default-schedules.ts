import type {StreamName} from '../streams/stream.ts';
import type {SchedulePlan} from './schedules.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/**
 * Full sweeps run when nobody works: from three in the morning at the account, one stream after the
 * other.
 */
const nightlyHour = 3;
/** Many accounts of one zone do not all begin at three, but spread over this long. */
const nightSpreadMs = 2 * hourMs;
const nightly: readonly StreamName[] = ['customers', 'jobs', 'tasks'];
const windows: readonly {stream: StreamName; window: string; everyMs: number}[] = [
  {stream: 'jobs', window: 'in_progress', everyMs: 5 * minuteMs},
  {stream: 'jobs', window: 'today', everyMs: 5 * minuteMs},
  {stream: 'jobs', window: 'tomorrow', everyMs: 15 * minuteMs},
  {stream: 'jobs', window: 'this_week', everyMs: 30 * minuteMs},
  {stream: 'tasks', window: 'open', everyMs: 10 * minuteMs},
  {stream: 'tasks', window: 'today', everyMs: 10 * minuteMs},
  {stream: 'tasks', window: 'this_week', everyMs: 30 * minuteMs},
];

/**
 * The schedules that an account begins with. Afterwards they are rows of sync.schedules, to be
 * changed there.
 * @param now - the present moment
 * @param timeZone - the account's IANA zone. The nightly hour is fixed in UTC by today's offset: a
 *   change of clocks
 *   moves it by an hour and never skips or repeats it
 * @param accountId - accounts come round at different moments, each always at its own
 */
export function planSchedules(now: Date, timeZone: string, accountId = '0'): SchedulePlan[] {
  const share = shareOf(accountId);
  const night = nextNight(now, timeZone).getTime() + Math.floor(share * nightSpreadMs);
  const next = (everyMs: number) =>
    new Date(now.getTime() + Math.ceil(everyMs * (1 - share))).toISOString();
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
    firstDueAt: next(hourMs),
  };
  const fresh = windows.map(({stream, window, everyMs}) => ({
    name: `${stream} ${window}`,
    stream,
    mode: 'window' as const,
    windowName: window,
    everyMs,
    firstDueAt: next(everyMs),
  }));
  return [...full, employees, ...fresh];
}

/**
 * 0 ≤ x < 1; accounts one after the other are spread evenly, however many there are: by the golden
 * ratio.
 */
function shareOf(accountId: string): number {
  return (Number(accountId) * 0.618_033_988_749_895) % 1;
}

function nextNight(now: Date, timeZone: string): Date {
  const clock = new Intl.DateTimeFormat('en', {
    timeZone,
    hour: 'numeric',
    minute: 'numeric',
    hourCycle: 'h23',
  });
  const parts = clock.formatToParts(now);
  const read = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const aheadMs = nightlyHour * hourMs - read('hour') * hourMs - read('minute') * minuteMs;
  const night = now.getTime() - (now.getTime() % minuteMs) + aheadMs;
  return new Date(aheadMs > 0 ? night : night + dayMs);
}
