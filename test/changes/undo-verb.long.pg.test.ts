// The same with five thousand jobs.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {seedBusiness} from '../../src/service/business.ts';
import {startService} from '../../src/service/server.ts';
import {runCommand} from '../support/command.ts';
import {createDatabase} from '../support/postgres.ts';
import {openWorld, type TestService, type TestWorld, timeZone} from '../support/world.ts';
import {playUndo} from './undo-story.ts';

const jobs = 5_000;
let service: TestService;
let world: TestWorld;

beforeAll(async () => {
  const database = await createDatabase('template0');
  const {url: databaseUrl} = database;
  await seedBusiness(databaseUrl, {seed: 7, customers: 500, jobs, timeZone, today: '2026-11-02'});
  const started = await startService({databaseUrl, port: 0, timeZone, dialect: 'observed'});
  const close = async () => {
    await started.close();
    await database.drop();
  };
  service = {url: started.url, token: started.token, databaseUrl, close};
  world = await openWorld(service);
  await world.sweep('jobs');
}, 240_000);
afterAll(async () => {
  await world?.close();
  await service?.close();
});

const pause = async () => {
  const ended = await runCommand(
    ['accounts', 'pause', world.account.name, '--reason', 'a wrong import'],
    {
      DATABASE_URL: world.databaseUrl,
    },
  );
  expect(ended).toMatchObject({code: 0, stderr: ''});
};

test(
  'undo restores five thousand jobs after one bad UPDATE, except for changes made since',
  () => playUndo({service, world, jobs, pause}),
  1_200_000,
);
