// Two lists of parties are matched in a thread of their own: ten thousand on each side take
// seconds, in which a server would answer nobody.

import {once} from 'node:events';
import {extname} from 'node:path';
import {isMainThread, parentPort, Worker, workerData} from 'node:worker_threads';
import type {CountryCode} from 'libphonenumber-js/min';
import {type Matches, matchParties} from './match.ts';
import {type Party, readPlain} from './party.ts';

/** What is matched; plain data, because it crosses threads. */
interface MatchTask {
  readonly ours: readonly Party[];
  readonly theirs: readonly Party[];
  /** The ids of those that have a link already. */
  readonly linkedHere: ReadonlySet<string>;
  readonly linkedThere: ReadonlySet<string>;
  /** That of telephone numbers without a country code. */
  readonly country: CountryCode;
}

/**
 * From source, this very file; in the built program, an entry beside the file that holds this
 * module.
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

// A thread of somebody else may load this module, too.
if (!isMainThread && workerData?.matchTask !== undefined)
  parentPort?.postMessage(match(workerData.matchTask));
