// Stands between us and a service: requests go through, and answers to some of them are kept back.

import {giveBackAsItCame, openProxy} from './proxy.ts';

export interface HoldingProxy {
  readonly url: string;
  /** Resolves when the service has answered the first request whose answer is kept back. */
  readonly held: Promise<void>;
  /** From now on all answers pass; the ones kept back are lost. */
  letThrough(): void;
  close(): Promise<void>;
}

/** @param isHeld - by method and path: `POST /customers.xml` */
export async function openHoldingProxy(target: string, isHeld: RegExp): Promise<HoldingProxy> {
  const held = Promise.withResolvers<void>();
  let holds = true;
  const {url, close, breakConnections} = await openProxy(target, {
    giveBack: (answer, response, {method, path}) => {
      if (holds && isHeld.test(`${method} ${path}`))
        answer.resume().once('end', () => held.resolve());
      else giveBackAsItCame(answer, response);
    },
  });
  const letThrough = () => {
    holds = false;
    breakConnections();
  };
  return {url, close, held: held.promise, letThrough};
}
