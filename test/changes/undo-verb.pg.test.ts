import {afterAll, beforeAll, test} from 'vitest';
import {pauseAccount} from '../../src/accounts/accounts.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';
import {playUndo} from './undo-story.ts';

let service: TestService;
let world: TestWorld;

beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  await world.sweep('jobs');
});
afterAll(async () => {
  await world?.close();
  await service?.close();
});

const pause = () => pauseAccount(world.pool, world.account.accountId, 'a wrong import');

test(
  'undo restores the jobs at the service, except for changes made since, which it reports',
  () => playUndo({service, world, jobs: 200, pause}),
  240_000,
);
