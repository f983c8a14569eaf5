// A day of an ERP with TypeORM: node day.js DEMO, where DEMO begins the keys of this run.

import {DataSource, EntitySchema, IsNull, MoreThan, QueryFailedError} from 'typeorm';

const [, , key] = process.argv;

const row = {
  row_id: {type: 'bigint', primary: true, generated: 'increment'},
  account_id: {type: 'bigint', nullable: true},
  external_key: {type: 'text', nullable: true},
  customer_number: {type: 'bigint', nullable: true},
  name: {type: 'text', nullable: true},
  _deleted_at: {type: 'timestamptz', nullable: true},
};
const Customer = new EntitySchema({
  name: 'customers',
  schema: 'warehouse',
  columns: {
    ...row,
    phone_number: {type: 'text', nullable: true},
    fax: {type: 'text', nullable: true},
    balance: {type: 'numeric', nullable: true},
  },
});
const Job = new EntitySchema({
  name: 'jobs',
  schema: 'warehouse',
  columns: {...row, parent_row_id: {type: 'bigint', nullable: true}},
});
const source = new DataSource({
  type: 'postgres',
  url: process.env.AUTHOR_URL,
  entities: [Customer, Job],
  // The tables are Fieldmirror's: TypeORM must not change them.
  synchronize: false,
  installExtensions: false,
});
await source.initialize();
const customers = source.getRepository(Customer);
const jobs = source.getRepository(Job);

// Create. A job names its customer by row_id: a new customer has no number yet.
const ada = await customers.save({
  external_key: `${key}-C1`,
  name: 'Ada',
  phone_number: '555-0100',
});
const boiler = await jobs.save({
  ...{external_key: `${key}-J1`, parent_row_id: ada.row_id, name: 'Boiler'},
});

// Update: what this program has made, and a customer that the service had before.
await customers.save({...ada, phone_number: '555-0101'});
await jobs.save({...boiler, name: 'Replace the boiler'});
const held = await customers.findOneOrFail({
  where: {_deleted_at: IsNull(), customer_number: MoreThan(0)},
  order: {customer_number: 'ASC'},
});
await customers.save({...held, fax: `${key} 555-0181`});

// Upsert, twice with the same keys.
const {account_id, customer_number} = held;
const unique = ['account_id', 'external_key'];
for (const name of ['Grace', 'Grace Hopper'])
  await customers.upsert({account_id, external_key: `${key}-C2`, name}, unique);
for (const name of ['Pump', 'Check the pump'])
  await jobs.upsert({account_id, customer_number, external_key: `${key}-J2`, name}, unique);

// Delete.
await customers.remove(await customers.save({external_key: `${key}-C3`, name: 'Gone'}));
await jobs.remove(await jobs.save({customer_number, external_key: `${key}-J3`, name: 'Gone'}));

// Refused: only the service computes a balance.
try {
  await customers.save({...held, balance: 7});
} catch (error) {
  if (!(error instanceof QueryFailedError)) throw error;
  console.log(error.message);
}
await source.destroy();
