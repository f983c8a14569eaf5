import {createRequire} from 'node:module';
import type {LookupFunction} from 'node:net';
import type undici from 'undici';
import {skippingInterim} from './interim-answers.ts';
import {refusingConnector, refusingLookup} from './refused-addresses.ts';

// The whole of undici brings fetch, WebSocket and mocks along: thirty milliseconds of every verb
// that asks the service.
const load = createRequire(import.meta.url);
const Agent: typeof undici.Agent = load('undici/lib/dispatcher/agent.js');
const buildConnector: typeof undici.buildConnector = load('undici/lib/core/connect.js');

export interface AgentOptions {
  /** Certificates to trust, PEM, in place of the system's. */
  readonly ca?: string;
  readonly lookup?: LookupFunction;
  /** Whether addresses of the link and of a cloud's metadata may be connected to. */
  readonly allowLinkLocal?: boolean | undefined;
}

/**
 * The connections of one account: pooled and kept alive for reads, a fresh one for every write. A
 * write on a connection that the server is just closing fails after it arrived: 50 of 50 in our
 * measurement.
 * @see docs/traps.md "The HTTP client". No certificate check can be switched off, and HTTP/2 is not
 *   spoken: one dead connection
 *   would fail all the requests on it
 */
export function createAgents({ca, lookup, allowLinkLocal = false}: AgentOptions): {
  readonly reads: undici.Agent;
  readonly writes: undici.Agent;
} {
  const connection = {
    allowH2: false,
    minVersion: 'TLSv1.2' as const,
    ...(ca === undefined ? {} : {ca}),
    ...(allowLinkLocal ? (lookup === undefined ? {} : {lookup}) : {lookup: refusingLookup(lookup)}),
  };
  const made = skippingInterim(buildConnector(connection));
  const connect = allowLinkLocal ? made : refusingConnector(made);
  // The deadline is ours, for the whole; undici's are per stage.
  const shared = {allowH2: false, connect, headersTimeout: 0, bodyTimeout: 0};
  return {reads: new Agent(shared), writes: new Agent({...shared, pipelining: 0})};
}
