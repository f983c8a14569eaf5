import {lookup as ofSystem} from 'node:dns';
import type {LookupFunction} from 'node:net';
import {isLoopback} from './base-url.ts';

/** What a name that must be this machine's is refused with: `[ELOOPBACK]`. */
const code = 'ELOOPBACK';

/**
 * Looks names up as `lookup` does, and believes no answer but this machine: plain http shows the token to everybody on the
 * way, and a name server, or who answers in its place, may say of `localhost` what it likes.
 */
export function onlyThisMachine(lookup: LookupFunction = ofSystem): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, address, family) => {
      const found = Array.isArray(address) ? address.map((one) => one.address) : [address];
      const stranger = found.find((one) => !isThisMachine(one));
      if (error !== null || stranger === undefined) callback(error, address, family);
      else callback(Object.assign(new Error(`${hostname} is ${stranger}`), {code}), address, family);
    });
  };
}

function isThisMachine(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '');
  return isLoopback(plain.includes(':') ? `[${plain}]` : plain);
}
