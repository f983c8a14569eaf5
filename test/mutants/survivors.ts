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
  {
    source: 'src/api/limiter.ts',
    line: "signal?.addEventListener('abort', leave, {once: true});",
    before: 'true',
    after: 'false',
    reason: 'a signal is aborted once',
  },
  {
    source: 'src/api/limiter.ts',
    line: 'if (this.#queue.isPaused) void this.#release();',
    before: 'this.#queue.isPaused',
    after: 'true',
    reason: 'a queue that runs is started again',
  },
  {
    source: 'src/api/limiter.ts',
    line: 'for (let until = 0; until < this.#heldUntil && !this.#stop.signal.aborted; ) {',
    before: '0',
    after: '1',
    reason: 'a clock begins long after its first millisecond',
  },
  {
    source: 'src/api/limiter.ts',
    line: 'if (ms <= 0) return;',
    before: '0',
    after: '1',
    reason: 'a millisecond more changes nothing',
  },
  {
    source: 'src/api/limiter.ts',
    line: 'if (!this.#stop.signal.aborted) throw error;',
    before: '!this.#stop.signal.aborted',
    after: 'false',
    reason: 'a pause fails for no other reason',
  },
  {
    source: 'src/api/limiter.ts',
    line: 'if (!this.#stop.signal.aborted) throw error;',
    before: 'throw error;',
    after: ';',
    reason: 'a pause fails for no other reason',
  },
  {
    source: 'src/core/lease.ts',
    line: 'this.#since = this.#since.map((held, at) => Math.max(held, since[at] ?? held));',
    before: 'since[at] ?? held',
    after: 'since[at]',
    reason: 'there are always as many clocks',
  },
  {
    source: 'src/core/lease.ts',
    line: 'if (at === null) return null;',
    before: 'at === null',
    after: 'false',
    reason: 'only another system knows no place',
  },
  {
    source: 'src/core/lease.ts',
    line: "if (process.platform !== 'linux') return null;",
    before: "process.platform !== 'linux'",
    after: 'false',
    reason: 'only another system knows no place',
  },
  {
    source: 'src/core/lease.ts',
    line: "const name = randomBytes(16).toString('base64url');",
    before: '16',
    after: '17',
    reason: 'a longer name is as good',
  },
  {
    source: 'src/core/lease.ts',
    line: "return createHash('sha256').update(facts).digest('base64url').slice(0, 22);",
    before: '0',
    after: '1',
    reason: 'a shorter name of a place is as good',
  },
  {
    source: 'src/core/lease.ts',
    line: "return createHash('sha256').update(facts).digest('base64url').slice(0, 22);",
    before: '22',
    after: '23',
    reason: 'a longer name of a place is as good',
  },
  {
    source: 'src/core/lease.ts',
    line: "await once(server, 'listening');",
    before: "await once(server, 'listening');",
    after: ';',
    reason: 'it listens at once; only a failure is waited for',
  },
  {
    source: 'src/core/lease.ts',
    line: 'socket.destroy();',
    before: 'socket.destroy();',
    after: ';',
    reason: 'the other side ends it as well',
  },
];
