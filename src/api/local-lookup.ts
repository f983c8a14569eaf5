import {lookup as ofSystem} from 'node:dns';
import type {LookupFunction} from 'node:net';
import {isLoopback} from './base-url.ts';

/** The code by which a name that must be this machine's is refused: `[ELOOPBACK]`. */
const code = 'ELOOPBACK';

/**
 * Looks names up as `lookup` does, and believes no answer but this machine. Plain http shows the
 * token to all on the way, and a name server, or an impostor in its place, may answer anything for
 * `localhost`.
 */
export function onlyThisMachine(lookup: LookupFunction = ofSystem): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, address, family) => {
      const found = Array.isArray(address) ? address.map((one) => one.address) : [address];
      const stranger = found.find((one) => !isThisMachine(one));
      if (error !== null || stranger === undefined) callback(error, address, family);
      else
        callback(Object.assign(new Error(`${hostname} is ${stranger}`), {code}), address, family);
    });
  };
}

function isThisMachine(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, '');
  return isLoopback(plain.includes(':') ? `[${plain}]` : plain);
}
