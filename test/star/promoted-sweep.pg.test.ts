// A warehouse that takes no writes for a moment, as a standby does until it is promoted.

import {expect, test} from 'vitest';
import {openService, openWorld} from '../support/world.ts';

test('a sweep on a standby is postponed, not failed, and certified after promotion', async () => {
  const service = await openService();
  const world = await openWorld(service);
  // As Postgres itself fails there.
  await world.pool.query(`
    CREATE FUNCTION public.stand_by() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'cannot execute INSERT in a read-only transaction'
      USING ERRCODE = '25006'; END $$;
    CREATE TRIGGER stand_by BEFORE INSERT ON warehouse.customers FOR EACH STATEMENT
      EXECUTE FUNCTION public.stand_by()`);
  const met = await world.sweep('customers');
  const error = expect.objectContaining({message: expect.stringMatching(/promote it/)});
  expect(met).toMatchObject({outcome: 'postponed', error});
  await world.pool.query('DROP FUNCTION public.stand_by() CASCADE');
  await world.pool.query('UPDATE sync.sweeps SET due_at = now()');
  expect(await world.sweep('customers')).toMatchObject({outcome: 'ended', state: 'certified'});
  await world.close();
  await service.close();
});
