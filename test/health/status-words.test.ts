import {describe, expect, test} from 'vitest';
import {findAccountProblems} from '../../src/alerts/account-problems.ts';
import type {Problem} from '../../src/alerts/alerts.ts';
import {formatStatus} from '../../src/cli/status.ts';
import {dropMarks} from '../../src/core/text.ts';
import type {AccountStatus, StreamFacts} from '../../src/health/account-status.ts';
import type {OverdueSchedule, Schedule} from '../../src/sweeps/schedules.ts';
import type {Sweep} from '../../src/sweeps/sweeps.ts';
import {inSequence} from '../support/patterns.ts';

const now = '2026-11-21T12:00:00Z';
const hourMs = 3_600_000;
const hoursAgo = (hours: number) => new Date(Date.parse(now) - hours * hourMs).toISOString();

function fullSweep(more: Partial<Sweep>): Sweep {
  return {
    sweepId: '7',
    accountId: '1',
    stream: 'jobs',
    mode: 'full',
    windowName: null,
    recordNumber: null,
    state: 'certified',
    requestedBy: 'schedule',
    dueAt: hoursAgo(3),
    startedAt: hoursAgo(3),
    endedAt: hoursAgo(2),
    stage: 'verify',
    nextPage: 1,
    fence: 1,
    leaseUntil: null,
    failures: 0,
    counts: {} as Sweep['counts'],
    reasons: [],
    error: null,
    evidence: {},
    approvedAt: null,
    approvedBy: null,
    ...more,
  } as Sweep;
}

function stream(name: string, more: Partial<StreamFacts> = {}): StreamFacts {
  const lastEnded = more.lastEnded === undefined ? fullSweep({stream: name}) : more.lastEnded;
  const sweeps = lastEnded === null ? [] : [lastEnded];
  return {
    stream: name,
    rows: 1_234,
    sweeps,
    quarantined: 0,
    lastEnded,
    provenAt: hoursAgo(3),
    ...more,
  };
}

function schedule(more: Partial<Schedule> = {}): Schedule {
  return {
    scheduleId: '1',
    accountId: '1',
    name: 'jobs nightly',
    stream: 'jobs',
    mode: 'full',
    windowName: null,
    everyMs: 24 * hourMs,
    nextDueAt: hoursAgo(-14),
    lastRequestedAt: hoursAgo(10),
    ...more,
  };
}

function account(
  name: string,
  more: Partial<AccountStatus> = {},
  own: Partial<AccountStatus['account']> = {},
): AccountStatus {
  return {
    account: {
      accountId: '1',
      name,
      apiUrl: `https://example.com/${name}`,
      timeZone: 'UTC',
      createdAt: hoursAgo(24 * 90),
      state: 'active',
      stateReason: null,
      stateSince: hoursAgo(24 * 90),
      keyId: null,
      ...own,
    },
    streams: [stream('jobs'), stream('tasks')],
    schedules: [schedule()],
    overdue: [],
    promises: [],
    waiting: [],
    changes: [],
    late: [],
    events: [],
    ...more,
  };
}

const late: OverdueSchedule = {...schedule(), accountName: 'acme', waitsSince: hoursAgo(50)};

function kinds(status: AccountStatus): Problem['kind'][] {
  return findAccountProblems([status], now).map(({kind}) => kind);
}

describe('the problems that status reports', () => {
  test('are empty if every stream is proven and on time', () => {
    expect(kinds(account('acme'))).toEqual([]);
  });

  test('include a stopped account, with its reason', () => {
    const stopped = account(
      'acme',
      {},
      {state: 'stopped', stateReason: 'its token is refused; give another'},
    );
    expect(findAccountProblems([stopped], now)).toEqual([
      expect.objectContaining({
        account: 'acme',
        kind: 'stopped-account',
        text: expect.stringContaining('its token is refused; give another'),
      }),
    ]);
  });

  test('include a stream whose last full sweep failed, with the error', () => {
    const failed = fullSweep({state: 'failed', error: 'GET /jobs.xml: 500'});
    const [problem] = findAccountProblems(
      [account('acme', {streams: [stream('jobs', {lastEnded: failed})]})],
      now,
    );
    expect(problem).toMatchObject({
      kind: 'failed',
      stream: 'jobs',
      text: expect.stringContaining('500'),
    });
  });

  test('include a sweep that waits for approval, its rows, and the command to approve it', () => {
    const waiting = [
      {
        sweepId: '12',
        accountId: '1',
        stream: 'jobs',
        endedAt: hoursAgo(1),
        rows: 120,
        reasons: ['too many'],
      },
    ];
    const [problem, ...others] = findAccountProblems([account('acme', {waiting})], now);
    expect(others).toEqual([]);
    expect(problem?.text).toMatch(/120 of 1,234 rows would be marked deleted$/);
    expect(problem?.next).toMatch(/fieldmirror sweeps show 12, .*fieldmirror sweeps approve 12$/);
  });

  test('include records in quarantine', () => {
    expect(kinds(account('acme', {streams: [stream('jobs', {quarantined: 2})]}))).toEqual([
      'quarantine',
    ]);
  });

  test.each([
    ['two days old', 48, 24, false],
    ['older', 49, 24, true],
    ['older, but swept once a week', 49, 24 * 7, false],
    ['older than two of its weeks', 24 * 15, 24 * 7, true],
  ])('depend on the age of the last proof: %s', (_, age, everyHours, isProblem) => {
    const status = account('acme', {
      streams: [stream('jobs', {provenAt: hoursAgo(age)})],
      schedules: [schedule({everyMs: everyHours * hourMs})],
    });
    expect(kinds(status)).toEqual(isProblem ? ['unproven'] : []);
  });

  test('include a stream never proven in two days, with the reason', () => {
    const lastEnded = fullSweep({state: 'uncertified', reasons: ['2 records are in quarantine']});
    const streams = [stream('jobs', {provenAt: null, lastEnded})];
    expect(kinds(account('acme', {streams}, {createdAt: hoursAgo(47)}))).toEqual([]);
    const [problem] = findAccountProblems(
      [account('acme', {streams}, {createdAt: hoursAgo(49)})],
      now,
    );
    expect(problem).toMatchObject({
      text: 'never proven complete, in 2 days',
      next: 'the last full sweep is uncertified, because 2 records are in quarantine',
    });
  });

  test('leave out old proofs without a full schedule, and those of a paused account', () => {
    const streams = [stream('jobs', {provenAt: hoursAgo(500)})];
    expect(kinds(account('acme', {streams, schedules: []}))).toEqual([]);
    expect(kinds(account('acme', {streams, schedules: [schedule({mode: 'window'})]}))).toEqual([]);
    expect(kinds(account('acme', {streams}, {state: 'paused'}))).toEqual([]);
  });

  test('include one problem for all overdue schedules of all accounts', () => {
    const overdue = Array.from({length: 9}, (_, n) => ({...late, name: `schedule ${n}`}));
    const problems = findAccountProblems(
      [account('acme', {overdue}), account('other', {overdue})],
      now,
    );
    expect(problems).toHaveLength(1);
    expect(problems[0]).toMatchObject({account: null, kind: 'overdue'});
    expect(problems[0]?.text).toMatch(
      /^18 schedules .* 2 days \(acme: schedule 0; .*and 15 more\)$/,
    );
  });

  test('send a person with overdue schedules to the service if a worker is alive', () => {
    const accounts = [account('acme', {overdue: [late]})];
    const next = (hasWorker: boolean) => findAccountProblems(accounts, now, {hasWorker})[0]?.next;
    expect(next(false)).toBe('is a worker running? fieldmirror start');
    expect(next(true)).toBe('does the service answer? fieldmirror accounts check acme');
  });
});

describe('the text of status', () => {
  const draw = (accounts: readonly AccountStatus[]) =>
    dropMarks(
      formatStatus(accounts, {
        place: 'here',
        now,
        workers: [],
        problems: findAccountProblems(accounts, now),
      }),
    );

  test('shows when each stream was last proven, and its last sweep', () => {
    const streams = [
      stream('jobs', {
        provenAt: hoursAgo(75),
        lastEnded: fullSweep({state: 'uncertified', reasons: ['a page repeated']}),
      }),
      stream('tasks', {provenAt: null, lastEnded: null}),
    ];
    const text = draw([account('acme', {streams})]);
    expect(text).toMatch(/jobs\s+│\s+1,234 │ uncertified 2 h ago\s+│ 3 days ago/);
    expect(text).toMatch(/tasks\s+│\s+1,234 │ never\s+│ never/);
    expect(text).toContain('jobs: uncertified, because a page repeated');
  });

  test('ends with the problems, or with "Nothing needs a person."', () => {
    expect(draw([account('acme')])).toMatch(/Nothing needs a person\.$/);
    const streams = [stream('jobs', {quarantined: 1})];
    expect(draw([account('acme', {streams})])).toMatch(
      inSequence(
        /Needs a person:\n {2}acme, jobs: 1 record in quarantine /,
        /\(see: fieldmirror explain A10\)\n {4}fieldmirror quarantine list .*$/,
      ),
    );
  });

  test('shows how many changes are in progress, and which one needs a decision', () => {
    const changes = [
      {accountId: '1', state: 'conflict' as const, count: 1, oldestAt: hoursAgo(3)},
      {accountId: '1', state: 'pending' as const, count: 1_200, oldestAt: hoursAgo(1)},
    ];
    const late = [
      {
        accountId: '1',
        lateness: 'conflict' as const,
        count: 2,
        changeId: '12',
        since: hoursAgo(3),
        reason: 'why',
        batch: null,
      },
    ];
    const text = draw([account('acme', {changes, late})]);
    expect(text).toContain('\nchanges in progress: 1 conflict (3 h), 1,200 pending (oldest 1 h)\n');
    expect(text).toMatch(
      inSequence(
        /acme: 2 changes need a decision, change 12 the first of them, for 3 h: why /,
        /\(see: fieldmirror explain A11\)\n/,
      ),
    );
    expect(text).toContain(
      'fieldmirror changes list --state conflict, then fieldmirror changes show 12',
    );
  });

  test('lists the field changes of the service, the newest first, at most twenty', () => {
    const event = {
      accountId: '1',
      table: 'jobs',
      kind: 'new' as const,
      detail: 'sent as text; kept in extra',
    };
    const events = Array.from({length: 30}, (_, n) => ({
      ...event,
      at: hoursAgo(n),
      field: `f${n}`,
    }));
    const text = draw([account('acme', {events})]);
    expect(text).toMatch(/seven days:\n {2}2026-11-21 jobs\.f0 new: sent as text; kept in extra\n/);
    expect(text).toContain('f19');
    expect(text).not.toContain('f20');
    expect(text).toContain('and 10 more');
  });

  test('has one line for each of 200 accounts, and streams only for those with a problem', () => {
    const accounts = Array.from({length: 200}, (_, n) =>
      account(`account-${n}`, n === 5 ? {streams: [stream('jobs', {quarantined: 3})]} : {}),
    );
    const text = draw(accounts);
    expect(text.match(/account-\d+ /g)?.length).toBeGreaterThanOrEqual(200);
    expect(text.match(/last full sweep/g)).toHaveLength(1);
    expect(text.split('\n').length).toBeLessThan(240);
  });

  test('fits 110 columns', () => {
    const streams = [
      stream('customers', {
        rows: 1_234_567,
        provenAt: hoursAgo(59),
        lastEnded: fullSweep({state: 'uncertified', endedAt: hoursAgo(20)}),
        sweeps: [
          fullSweep({state: 'running', endedAt: null}),
          fullSweep({mode: 'window', windowName: 'today'}),
        ],
        quarantined: 12,
      }),
    ];
    const one = account('acme', {streams, schedules: [schedule({stream: 'customers'})]});
    const many = Array.from({length: 5}, () =>
      account('a'.repeat(60), {streams}, {state: 'stopped', stateReason: 'x'}),
    );
    const reasons = [`because of this and that, ${'word '.repeat(60)}`];
    const wordy = [
      stream('jobs', {lastEnded: fullSweep({state: 'uncertified', reasons}), provenAt: null}),
    ];
    for (const text of [draw([one]), draw(many), draw([account('acme', {streams: wordy})])]) {
      for (const line of text.split('\n')) expect(line.length, line).toBeLessThanOrEqual(110);
    }
  });

  test('without an account states that there is no account yet', () => {
    expect(draw([])).toContain('no account yet: fieldmirror accounts add NAME');
  });

  test('without an account shows what needs a person all the same', () => {
    const grown = {account: null, stream: null, subject: '', since: now, next: null};
    const problems = [{...grown, kind: 'growth', text: 'the database has grown'} as const];
    const text = formatStatus([], {place: 'here', now, workers: [], problems});
    expect(dropMarks(text)).toMatch(/Needs a person:\n {2}the database has grown/);
  });
});
