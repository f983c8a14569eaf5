// A day of an ERP with Drizzle: node day.ts DEMO, where DEMO begins the keys of this run.

import {and, asc, DrizzleQueryError, eq, isNotNull, isNull, sql} from 'drizzle-orm';
import {drizzle} from 'drizzle-orm/node-postgres';
import {bigint, numeric, pgSchema, text, timestamp} from 'drizzle-orm/pg-core';

const {AUTHOR_URL = ''} = process.env;
const [, , key] = process.argv;
const db = drizzle(AUTHOR_URL);
const warehouse = pgSchema('warehouse');

// Drizzle names every column of a table in an INSERT, but for those that are generated. As identity,
// row_id would be named as well, and refused.
const row = {
  rowId: bigint('row_id', {mode: 'number'}).primaryKey().generatedAlwaysAs(sql`identity`),
  accountId: bigint('account_id', {mode: 'number'}),
  externalKey: text('external_key'),
  customerNumber: bigint('customer_number', {mode: 'number'}),
  name: text('name'),
  deletedAt: timestamp('_deleted_at', {withTimezone: true}),
};
const customers = warehouse.table('customers', {
  ...row,
  phoneNumber: text('phone_number'),
  fax: text('fax'),
  balance: numeric('balance'),
});
const jobs = warehouse.table('jobs', {
  ...row,
  parentRowId: bigint('parent_row_id', {mode: 'number'}),
});
const ofCustomer = (rowId = 0) => eq(customers.rowId, rowId);
const ofJob = (rowId = 0) => eq(jobs.rowId, rowId);

// Create. A job names its customer by row_id: a new customer has no number yet.
const [ada] = await db
  .insert(customers)
  .values({externalKey: `${key}-C1`, name: 'Ada', phoneNumber: '555-0100'})
  .returning();
const [boiler] = await db
  .insert(jobs)
  .values({externalKey: `${key}-J1`, parentRowId: ada?.rowId, name: 'Boiler'})
  .returning();

// Update: what this program has made, and a customer that the service had before.
await db.update(customers).set({phoneNumber: '555-0101'}).where(ofCustomer(ada?.rowId));
await db.update(jobs).set({name: 'Replace the boiler'}).where(ofJob(boiler?.rowId));
const live = and(isNull(customers.deletedAt), isNotNull(customers.customerNumber));
const order = asc(customers.customerNumber);
const [held] = await db.select().from(customers).where(live).orderBy(order).limit(1);
await db
  .update(customers)
  .set({fax: `${key} 555-0180`})
  .where(ofCustomer(held?.rowId));

// Upsert, twice with the same keys.
for (const name of ['Grace', 'Grace Hopper'])
  await db
    .insert(customers)
    .values({accountId: held?.accountId, externalKey: `${key}-C2`, name})
    .onConflictDoUpdate({target: [customers.accountId, customers.externalKey], set: {name}});
const {accountId, customerNumber} = held ?? {};
for (const name of ['Pump', 'Check the pump'])
  await db
    .insert(jobs)
    .values({accountId, customerNumber, externalKey: `${key}-J2`, name})
    .onConflictDoUpdate({target: [jobs.accountId, jobs.externalKey], set: {name}});

// Delete.
const gone = {externalKey: `${key}-C3`, name: 'Gone'};
const [customer] = await db.insert(customers).values(gone).returning();
const done = {externalKey: `${key}-J3`, customerNumber, name: 'Gone'};
const [job] = await db.insert(jobs).values(done).returning();
await db.delete(customers).where(ofCustomer(customer?.rowId));
await db.delete(jobs).where(ofJob(job?.rowId));

// Refused: only the service computes a balance.
try {
  await db.update(customers).set({balance: '7'}).where(ofCustomer(held?.rowId));
} catch (error) {
  if (!(error instanceof DrizzleQueryError)) throw error;
  console.log(error.cause?.message);
}
await db.$client.end();
