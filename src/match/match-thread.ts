// Two lists of parties are matched in a separate thread: ten thousand on each side take seconds, in
// which a server would answer no request.

import {once} from 'node:events';
import {extname} from 'node:path';
import {isMainThread, parentPort, Worker, workerData} from 'node:worker_threads';
import type {CountryCode} from 'libphonenumber-js/min';
import {type Matches, matchParties} from './match.ts';
import {type Party, readPlain} from './party.ts';

/** The parties to match; plain data, because it crosses threads. */
interface MatchTask {
  readonly ours: readonly Party[];
  readonly theirs: readonly Party[];
  /** The ids of the parties that have a link already. */
  readonly linkedHere: ReadonlySet<string>;
  readonly linkedThere: ReadonlySet<string>;
  /** The country of telephone numbers without a country code. */
  readonly country: CountryCode;
}

/**
 * From source, the thread loads this very file. In the built program, it loads an entry beside the
 * file that contains this module.
 */
const threadFile = new URL(`./match-thread${extname(import.meta.filename)}`, import.meta.url);

export async function matchInThread(task: MatchTask): Promise<Matches> {
  const thread = new Worker(threadFile, {workerData: {matchTask: task}});
  const [matches] = await once(thread, 'message');
  return matches as Matches;
}

function match({ours, theirs, linkedHere, linkedThere, country}: MatchTask): Matches {
  const here = ours.map((party) => readPlain(party, country));
  const there = theirs.map((party) => readPlain(party, country));
  const linked = [
    ...here.filter(({party}) => linkedHere.has(party.id)),
    ...there.filter(({party}) => linkedThere.has(party.id)),
  ];
  return matchParties(here, there, new Set(linked));
}

// Other code may load this module in its threads, too.
if (!isMainThread && workerData?.matchTask !== undefined)
  parentPort?.postMessage(match(workerData.matchTask));
