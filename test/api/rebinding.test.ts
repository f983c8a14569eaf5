// The address that the operator gave decides where the token may go, whatever a name server says of
// it.

import type {LookupAddress} from 'node:dns';
import type {LookupFunction} from 'node:net';
import {expect, test} from 'vitest';
import {FatalError} from '../../src/core/errors.ts';
import {openTransport} from './open-transport.ts';
import {answerOf, EMPTY_LIST, failureOf} from './read-outcome.ts';
import {startServer} from './scripted-server.ts';

/** A name server with one address for every name. */
function saying(address: string): LookupFunction {
  const found: LookupAddress = {address, family: 4};
  return (_name, {all}, callback) =>
    all === true ? callback(null, [found]) : callback(null, found.address, found.family);
}

/** A server of this machine, and the number of its requests. */
async function open(lookup: LookupFunction) {
  let asked = 0;
  const server = await startServer((response) => {
    asked++;
    response.setHeader('content-type', 'application/xml; charset=utf-8');
    response.end(EMPTY_LIST);
  });
  const transport = openTransport(`http://localhost:${new URL(server.url).port}`, {lookup});
  return {transport, asked: () => asked};
}

test('plain http is sent if localhost resolves to this machine', async () => {
  const {transport} = await open(saying('127.0.0.1'));
  expect((await answerOf(transport.read({path: '/jobs.xml'}))).body.toString()).toBe(EMPTY_LIST);
});

// This address, too, leads to a server of this machine, and so shows whether a request was sent.
test('nothing is sent in plain http if localhost resolves to another address', async () => {
  const {transport, asked} = await open(saying('0.0.0.0'));
  const error = await failureOf(transport.read({path: '/jobs.xml'}));
  expect(error).toBeInstanceOf(FatalError);
  expect(error.message).toMatch(
    /not this machine.*\[ELOOPBACK\].*nothing was sent: give the address with https/,
  );
  const written = await transport.write({method: 'POST', path: '/jobs.xml', body: '<job/>'});
  expect(written).toMatchObject({outcome: 'not-sent'});
  expect(asked()).toBe(0);
});
