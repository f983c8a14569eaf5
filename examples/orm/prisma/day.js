// A day of an ERP with Prisma: node day.js DEMO, where DEMO begins the keys of this run.

import {PrismaPg} from '@prisma/adapter-pg';
import {PrismaClient} from './generated/client.ts';

const {AUTHOR_URL = ''} = process.env;
const [, , key] = process.argv;
const prisma = new PrismaClient({adapter: new PrismaPg({connectionString: AUTHOR_URL})});

// Create. A job names its customer by row_id: a new customer has no number yet.
const ada = await prisma.customer.create({
  data: {externalKey: `${key}-C1`, name: 'Ada', phoneNumber: '555-0100'},
});
const boiler = await prisma.job.create({
  data: {externalKey: `${key}-J1`, parentRowId: ada.rowId, name: 'Boiler'},
});

// Update: what this program has made, and a customer that the service had before.
const of = ({rowId}) => ({where: {rowId}});
await prisma.customer.update({...of(ada), data: {phoneNumber: '555-0101'}});
await prisma.job.update({...of(boiler), data: {name: 'Replace the boiler'}});
const held = await prisma.customer.findFirstOrThrow({
  where: {deletedAt: null, customerNumber: {gt: 0}},
  orderBy: {customerNumber: 'asc'},
});
await prisma.customer.update({...of(held), data: {fax: `${key} 555-0181`}});

// Upsert, twice with the same keys.
const {accountId, customerNumber} = held;
for (const name of ['Grace', 'Grace Hopper']) {
  const unique = {accountId, externalKey: `${key}-C2`};
  await prisma.customer.upsert({
    where: {accountId_externalKey: unique},
    create: {...unique, name},
    update: {name},
  });
}
for (const name of ['Pump', 'Check the pump']) {
  const unique = {accountId, externalKey: `${key}-J2`};
  await prisma.job.upsert({
    where: {accountId_externalKey: unique},
    create: {...unique, customerNumber, name},
    update: {name},
  });
}

// Delete.
const gone = await prisma.customer.create({data: {externalKey: `${key}-C3`, name: 'Gone'}});
await prisma.customer.delete(of(gone));
const done = await prisma.job.create({
  data: {customerNumber, externalKey: `${key}-J3`, name: 'Gone'},
});
await prisma.job.delete(of(done));

// Refused: only the service computes a balance.
try {
  await prisma.customer.update({...of(held), data: {balance: 7}});
} catch (error) {
  const answer = error.meta?.driverAdapterError?.cause;
  if (answer === undefined) throw error;
  console.log(answer.message);
}
await prisma.$disconnect();
