// docs/data-dictionary.md lists every table and column of the schemas warehouse and mart.

import {expect, inject, test} from 'vitest';
import {createDatabase} from '../support/postgres.ts';
import {withClient} from '../support/with-client.ts';
import {formatDictionary} from './dictionary-page.ts';

test('docs/data-dictionary.md matches the database', async () => {
  const database = await createDatabase(inject('warehouseTemplate'));
  try {
    const page = await withClient(database.url, formatDictionary);
    await expect(page).toMatchFileSnapshot('../../docs/data-dictionary.md');
  } finally {
    await database.drop();
  }
});
