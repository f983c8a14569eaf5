// The address that the operator gave decides where the token may go, whatever a name server says of
// it.

import type {LookupAddress} from 'node:dns';
import type {LookupFunction} from 'node:net';
import {promisify} from 'node:util';
import {expect, test} from 'vitest';
import {onlyThisMachine, refusingLookup} from '../../src/api/addresses.ts';
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

test.each([
  ['127.0.0.1', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['0.0.0.0', false],
  ['::ffff:10.0.0.1', false],
])('localhost as %s, alone or in a list, is this machine: %s', async (address, isAccepted) => {
  for (const all of [true, false]) {
    const found = promisify(onlyThisMachine(saying(address)))('localhost', {all});
    if (isAccepted) expect(await found).toBeTruthy();
    else await expect(found).rejects.toThrow(`localhost is ${address}`);
  }
});

test('a name that leads to a metadata address is refused, alone or in a list', async () => {
  for (const all of [true, false]) {
    const found = promisify(refusingLookup(saying('169.254.169.254')))('erp.example.com', {all});
    await expect(found).rejects.toThrow(/cloud's metadata/);
  }
});

test('the error of a name server is passed on', async () => {
  const failing: LookupFunction = (_name, _options, callback) =>
    callback(new Error('no such name'), '', 4);
  for (const guarded of [onlyThisMachine(failing), refusingLookup(failing)])
    await expect(promisify(guarded)('erp.example.com', {})).rejects.toThrow('no such name');
});
