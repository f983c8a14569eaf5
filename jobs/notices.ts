// A notice of Postgres wakes the poller, and no more. Any login may send any number of notices with
// any text: no grant of Postgres forbids it. So a payload is a hint that counts only when it is an
// account served here, and hints gather in a set while one look is under way: neither memory nor
// the queue grows with the number of notices.

/** The look that a notice may wake, for the accounts served here. */
interface Wakes {
  readonly isServed: (accountId: string) => boolean;
  /** Looks for due changes of these accounts; never two looks at once. */
  readonly look: (accountIds: readonly string[]) => Promise<void>;
  readonly signal: AbortSignal;
}

/**
 * @returns takes the payload of each notice; a look that fails is left to the poller's next round
 */
export function handleNotices({isServed, look, signal}: Wakes): (payload: string) => void {
  const hinted = new Set<string>();
  let isLooking = false;
  const lookOn = async () => {
    while (hinted.size > 0 && !signal.aborted) {
      const accountIds = [...hinted];
      hinted.clear();
      await look(accountIds).catch(() => {});
    }
    isLooking = false;
  };
  return (payload) => {
    if (!isServed(payload)) return;
    hinted.add(payload);
    if (isLooking) return;
    isLooking = true;
    void lookOn();
  };
}
