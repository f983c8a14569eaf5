// Faults that no test notices, each with the reason why that is right. A fault is known by its
// source, the line that it is in, and what it changes there.

export interface Survivor {
  readonly source: string;
  /** The line without the spaces around it. */
  readonly line: string;
  readonly before: string;
  readonly after: string;
  readonly reason: string;
}

export const survivors: readonly Survivor[] = [
  {
    source: 'src/push/compare.ts',
    line: "const isApart = (name: string) => rules.get(name)?.kind === 'ids';",
    before: '===',
    after: '!==',
    reason: 'both groups are judged, whichever comes first',
  },
  {
    source: 'src/push/compare.ts',
    line: 'showsOld(rules, confirmed, row, (name) => isApart(name) === apart),',
    before: '===',
    after: '!==',
    reason: 'both groups are judged, whichever comes first',
  },
  {
    source: 'src/push/compare.ts',
    line: 'if (held === undefined || !isMeant(name)) return [];',
    before: '!isMeant(name)',
    after: '(isMeant(name))',
    reason: 'both groups are judged, whichever comes first',
  },
  {
    source: 'src/push/compare.ts',
    line: 'const shortestPauseMs = 2_000;',
    before: '2_000',
    after: '2001',
    reason: 'a millisecond more changes nothing',
  },
  {
    source: 'src/push/decide.ts',
    line: 'const minutes = Math.round(settle.arrivalLimitMs / 60_000);',
    before: '60_000',
    after: '60001',
    reason: 'the same after rounding',
  },
  {
    source: 'src/push/decide.ts',
    line: 'const delayMs = lookDelaysMs[Math.min(change.looks + 1, lookDelaysMs.length - 1)] ?? 0;',
    before: '1',
    after: '2',
    reason: 'the last two delays are the same',
  },
  {
    source: 'src/push/decision.ts',
    line: 'const usualMs = lookDelaysMs[Math.min(before, lookDelaysMs.length - 1)] ?? 0;',
    before: '1',
    after: '2',
    reason: 'the last two delays are the same',
  },
  {
    source: 'src/api/limiter.ts',
    line:
      'const PRIORITIES: Readonly<Record<Urgency, number>> = ' +
      "{'write-back': 2, fresh: 1, full: 0};",
    before: '2',
    after: '3',
    reason: 'the order is the same',
  },
  {
    source: 'src/api/limiter.ts',
    line: '#heldUntil = 0;',
    before: '0',
    after: '1',
    reason: 'a clock begins long after its first millisecond',
  },
  {
    source: 'src/sweeps/tombstones.ts',
    line: 'if (found.gone.length === 0) return;',
    before: 'found.gone.length === 0',
    after: 'false',
    reason: 'a statement over no answers writes nothing',
  },
  {
    source: 'src/sweeps/tombstones.ts',
    line: 'if (found.gone.length === 0) return;',
    before: 'return;',
    after: ';',
    reason: 'a statement over no answers writes nothing',
  },
  {
    source: 'src/sweeps/tombstones.ts',
    line: 'if (numbers.length > 0) {',
    before: 'numbers.length > 0',
    after: 'true',
    reason: 'no row is owned by a number of an empty list',
  },
  {
    source: 'src/sweeps/tombstones.ts',
    line: 'if (numbers.length > 0) {',
    before: '>',
    after: '>=',
    reason: 'no row is owned by a number of an empty list',
  },
  {
    source: 'src/http/keys.ts',
    line: "if (key === undefined) throw new HttpProblem(401, 'unauthorized');",
    before: 'key === undefined',
    after: 'false',
    reason: 'the hook has refused a request without a key before',
  },
  {
    source: 'src/http/keys.ts',
    line: "if (key === undefined) throw new HttpProblem(401, 'unauthorized');",
    before: "throw new HttpProblem(401, 'unauthorized');",
    after: ';',
    reason: 'the hook has refused a request without a key before',
  },
  {
    source: 'src/http/keys.ts',
    line: 'if (accountId === null || timeZone === null) {',
    before: '||',
    after: '&&',
    reason: 'a key of no one account has neither',
  },
  {
    source: 'src/console/sign-in.ts',
    line: 'if (viewer === undefined) throw new AccessRefused(401, signedOut);',
    before: 'viewer === undefined',
    after: 'false',
    reason: 'the hook has refused a request without a viewer before',
  },
  {
    source: 'src/console/sign-in.ts',
    line: 'if (viewer === undefined) throw new AccessRefused(401, signedOut);',
    before: 'throw new AccessRefused(401, signedOut);',
    after: ';',
    reason: 'the hook has refused a request without a viewer before',
  },
  {
    source: 'src/console/sign-in.ts',
    line: "const session = token === '' ? null : await sessions.read(token);",
    before: "token === ''",
    after: 'false',
    reason: 'no session has an empty token',
  },
  {
    source: 'src/console/sign-in.ts',
    line: 'return session === null ? null : makeViewer(session, token);',
    before: 'session === null',
    after: 'false',
    reason: 'the session was opened just before',
  },
];
