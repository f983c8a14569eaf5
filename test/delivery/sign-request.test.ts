// The signature that the documents of S3 print for their example.

import {expect, test} from 'vitest';
import {Secret} from '../../src/core/secret.ts';
import {emptySha256, signRequest} from '../../src/delivery/bucket-store.ts';

const keys = {
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: new Secret('wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'),
  sessionToken: null,
};
const example = {
  method: 'GET' as const,
  bodySha256: emptySha256,
  region: 'us-east-1',
  at: new Date('2013-05-24T00:00:00.000Z'),
};

test.each([
  [
    'of an object, with a header',
    'https://examplebucket.s3.amazonaws.com/test.txt',
    {range: 'bytes=0-9'},
    'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
  ],
  [
    'of a list, with a query',
    'https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J',
    {},
    '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  ],
])(
  'a request %s has the signature given in the S3 documentation',
  (_what, url, headers, signature) => {
    const signed = signRequest({...example, url: new URL(url), headers}, keys);
    expect(signed.authorization).toMatch(new RegExp(`Signature=${signature}$`));
  },
);

test('a request with an odd name has the signature given in the S3 documentation', () => {
  const request = {
    ...example,
    method: 'PUT' as const,
    url: new URL('https://examplebucket.s3.amazonaws.com/test$file.text'),
    bodySha256: '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072',
    headers: {date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY'},
  };
  expect(signRequest(request, keys).authorization).toMatch(
    /Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd$/,
  );
});

test('the session token of temporary keys is sent as a signed header', () => {
  const url = new URL('https://examplebucket.s3.amazonaws.com/test.txt');
  const signed = signRequest({...example, url}, {...keys, sessionToken: new Secret('lent')});
  expect(signed['x-amz-security-token']).toBe('lent');
  expect(signed.authorization).toContain(
    'SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,',
  );
});
