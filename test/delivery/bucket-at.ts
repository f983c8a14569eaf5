// A bucket of a server that a test has written itself.

import type {Server} from 'node:http';
import type {AddressInfo} from 'node:net';
import {Secret} from '../../src/core/secret.ts';
import {BucketStore} from '../../src/delivery/bucket-store.ts';

/** @param server - listens on this machine */
export function openBucketAt(server: Server, signal = new AbortController().signal): BucketStore {
  return new BucketStore(
    {
      name: 'lake',
      place: 's3://lake/star',
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: null,
      keep: 1,
    },
    {
      storageKeys: {accessKeyId: 'a', secretAccessKey: new Secret('b'), sessionToken: null},
      allowsHttp: false,
      allowsLinkLocal: false,
    },
    signal,
  );
}
