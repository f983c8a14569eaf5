// Stands between us and a service, and keeps the traffic byte for byte.

import {openProxy} from './proxy.ts';

/** A request as it came in. */
export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly contentType: string | null;
  readonly body: string;
}

export interface RecordingProxy {
  readonly url: string;
  /** The writing requests since its last call. */
  takeWrites(): Recorded[];
  close(): Promise<void>;
}

export async function openRecordingProxy(target: string): Promise<RecordingProxy> {
  const recorded: Recorded[] = [];
  const {url, close} = await openProxy(target, {
    receive: ({method, path, headers, body}) => {
      recorded.push({
        method,
        path,
        contentType: headers['content-type'] ?? null,
        body: body.toString('utf8'),
      });
      return false;
    },
  });
  return {url, close, takeWrites: () => recorded.splice(0).filter(({method}) => method !== 'GET')};
}
