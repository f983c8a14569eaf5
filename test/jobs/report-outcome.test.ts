import {describe, expect, test} from 'vitest';
import {reportChange, reportOutcome, reportPush} from '../../jobs/queue-jobs.ts';
import {AccessError, FatalError, RetryableError} from '../../src/core/errors.ts';
import {createLogger, type Logger} from '../../src/core/log.ts';
import type {CarriedChange} from '../../src/push/run.ts';
import type {SweepResult} from '../../src/sweeps/run-sweep.ts';
import {type ClaimedSweep, countNames, type SweepCounts} from '../../src/sweeps/sweeps.ts';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly [fact: string]: unknown;
}

const levels = {debug: 20, info: 30, warn: 40, error: 50};

function linesOf(write: (log: Logger) => void, level: keyof typeof levels = 'debug'): Line[] {
  const lines: Line[] = [];
  const destination = {write: (line: string) => void lines.push(JSON.parse(line))};
  write(createLogger({level, secrets: [], destination}));
  return lines;
}

const none = Object.fromEntries(countNames.map((name) => [name, 0])) as unknown as SweepCounts;

function sweep(own: Partial<ClaimedSweep> = {}): ClaimedSweep {
  const target = {stream: 'jobs', mode: 'full', windowName: null, recordNumber: null};
  return {sweepId: '12', accountName: 'acme', ...target, counts: none, ...own} as ClaimedSweep;
}

function ended(
  own: Partial<Extract<SweepResult, {outcome: 'ended'}>> = {},
  counts: Partial<SweepCounts> = {},
): SweepResult {
  const end = {state: 'certified', reasons: [], durationMs: 2_130} as const;
  return {outcome: 'ended', sweep: sweep(), ...end, counts: {...none, ...counts}, ...own};
}

const report = (result: SweepResult, isWatched = false) =>
  linesOf((log) => reportOutcome(log, {sweepId: '12', isWatched}, result));

describe('the log line of an ended sweep', () => {
  test('is a readable sentence, with its facts as fields', () => {
    expect(report(ended({}, {records: 3_332, updated: 4, pages: 113}))).toEqual([
      expect.objectContaining({
        level: levels.info,
        event: 'sweep.ended',
        account: 'acme',
        stream: 'jobs',
        sweep: '12',
        mode: 'full',
        state: 'certified',
        durationMs: 2_130,
        records: 3_332,
        pages: 113,
        msg: 'sweep 12 of jobs (acme) certified: 3,332 records, 4 changed, in 2.1 s',
      }),
    ]);
  });

  test.each([
    [
      {sweep: sweep({mode: 'window', windowName: 'open'}), state: 'refreshed'},
      {records: 1},
      'sweep 12 of jobs, open (acme) refreshed: 1 record, nothing changed, in 2.1 s',
    ],
    [
      {sweep: sweep({mode: 'record', recordNumber: '4711'})},
      {records: 1, inserted: 1},
      'sweep 12 of jobs 4711 (acme) certified: 1 record, 1 new, in 2.1 s',
    ],
    [
      {durationMs: 75_000},
      {records: 10, tombstoned: 2, quarantined: 3, revived: 1},
      'sweep 12 of jobs (acme) certified: 10 records, 1 back, 2 gone, 3 in quarantine, ' +
        'in 1 min 15 s',
    ],
  ] as const)('describes the sweep by its target and its counts: %#', (own, counts, words) => {
    expect(report(ended(own, counts))[0]).toMatchObject({msg: words});
  });

  test('is a warning with the next step if the sweep waits for a person', () => {
    const stopped = ended({state: 'stopped', reasons: ['90 rows are gone']});
    expect(report(stopped)).toMatchObject([
      {
        level: levels.warn,
        reasons: ['90 rows are gone'],
        msg: expect.stringMatching(/; fieldmirror sweeps show 12$/),
      },
    ]);
    expect(report(stopped, true)).toMatchObject([{level: levels.info}]);
  });

  test('is an error if the sweep failed, unless it is watched or its account is refused', () => {
    const failed = (error: Error): SweepResult => ({
      outcome: 'failed',
      sweep: sweep(),
      error,
      durationMs: 5,
    });
    const words = 'sweep 12 of jobs (acme) failed: no answer';
    expect(report(failed(new Error('no answer')))).toMatchObject([
      {level: levels.error, event: 'sweep.ended', state: 'failed', reason: 'no answer', msg: words},
    ]);
    expect(report(failed(new Error('no answer')), true)).toMatchObject([{level: levels.info}]);
    expect(report(failed(new AccessError('401')))).toMatchObject([{level: levels.info}]);
  });
});

test('a sweep that waits after a failure logs a warning; one put back does not', () => {
  const postponed = (delayMs: number): SweepResult => ({
    outcome: 'postponed',
    sweep: sweep(),
    error: new RetryableError('the reason'),
    delayMs,
  });
  expect(report(postponed(5_000))).toMatchObject([
    {
      level: levels.warn,
      event: 'sweep.postponed',
      msg: 'sweep 12 of jobs (acme) waits 5 s and continues: the reason',
    },
  ]);
  expect(report(postponed(0))).toMatchObject([{level: levels.info}]);
});

test('a sweep that waits or failed names the page of its cause, or that of its event', () => {
  const error = new RetryableError('no row was written', {
    cause: new FatalError('a lock is in the way', {kind: 'locked'}),
  });
  const unknown = new Error('no answer');
  const waits = (cause: Error) => ({
    outcome: 'postponed',
    sweep: sweep(),
    delayMs: 5,
    error: cause,
  });
  const failed = (cause: Error) => ({
    outcome: 'failed',
    sweep: sweep(),
    durationMs: 5,
    error: cause,
  });
  const pages = [waits(error), failed(error), waits(unknown), failed(unknown)].map(
    (result) => report(result as SweepResult)[0]?.docs,
  );
  expect(pages).toEqual(['E28', 'E28', 'E07', 'A07']);
});

describe('a change', () => {
  const change = {
    changeId: '17',
    operation: 'update',
    table: 'customers',
    number: '12',
    rowId: '3',
    externalKey: 'dana@example.com',
    fields: {name: 'Dana'},
    accountName: 'acme',
    reason: 'Dana is taken',
  } as unknown as CarriedChange['change'];
  const lines = (end: CarriedChange['end'], own: Partial<CarriedChange['change']> = {}) =>
    linesOf((log) => reportChange(log, {change: {...change, ...own}, end, durationMs: 412}));

  test('that ended logs one line at info, without its values', () => {
    const [line, ...others] = lines('done');
    expect(others).toEqual([]);
    expect(line).toMatchObject({
      level: levels.info,
      event: 'change.ended',
      account: 'acme',
      stream: 'customers',
      change: '17',
      state: 'done',
      durationMs: 412,
      msg: 'change 17, update customers 12 (acme), done in 0.4 s',
    });
    expect(JSON.stringify(line)).not.toMatch(/Dana|dana/);
    expect(lines('rejected', {operation: 'create', number: null})[0]).toMatchObject({
      event: 'change.ended',
      msg: 'change 17, create customers, row 3 (acme), refused in 0.4 s',
    });
  });

  test.each([
    ['conflict', levels.info, 'change.conflict'],
    ['in_doubt', levels.debug, 'change.in_doubt'],
    ['postponed', levels.debug, 'change.postponed'],
  ] as const)('that is %s logs that state, not an end', (end, level, event) => {
    expect(lines(end)).toMatchObject([{level, event}]);
  });
});

test('all changes of a push that need a person are logged in one warning', () => {
  const counts = {done: 9, rejected: 1_200, conflict: 1, postponed: 0, inDoubt: 0};
  expect(linesOf((log) => reportPush(log, 'acme', counts))).toMatchObject([
    {
      level: levels.warn,
      event: 'push.needs_person',
      account: 'acme',
      rejected: 1_200,
      conflict: 1,
      msg: 'changes of acme need a person: 1,200 refused, 1 in conflict; fieldmirror changes list',
    },
  ]);
  expect(linesOf((log) => reportPush(log, 'acme', {...counts, rejected: 0, conflict: 0}))).toEqual(
    [],
  );
});
