// A day of an ERP with Sequelize: node day.js DEMO, where DEMO begins the keys of this run.

import {DatabaseError, DataTypes, Op, Sequelize} from 'sequelize';

const {AUTHOR_URL = ''} = process.env;
const [, , key] = process.argv;

// The database counts row_id: no INSERT may name it, not even as DEFAULT.
const leaveOutRowId = (_row, options) => {
  options.fields = options.fields.filter((name) => name !== 'row_id');
};
const sequelize = new Sequelize(AUTHOR_URL, {
  logging: false,
  define: {
    ...{schema: 'warehouse', timestamps: false, freezeTableName: true},
    hooks: {beforeCreate: leaveOutRowId},
  },
});
const row = {
  row_id: {type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true},
  account_id: DataTypes.BIGINT,
  external_key: DataTypes.TEXT,
  customer_number: DataTypes.BIGINT,
  name: DataTypes.TEXT,
  _deleted_at: DataTypes.DATE,
};
const Customer = sequelize.define('customers', {
  ...row,
  phone_number: DataTypes.TEXT,
  fax: DataTypes.TEXT,
  balance: DataTypes.DECIMAL,
});
const Job = sequelize.define('jobs', {...row, parent_row_id: DataTypes.BIGINT});

// Create. A job names its customer by row_id: a new customer has no number yet.
const ada = await Customer.create({
  ...{external_key: `${key}-C1`, name: 'Ada', phone_number: '555-0100'},
});
const boiler = await Job.create({
  ...{external_key: `${key}-J1`, parent_row_id: ada.row_id, name: 'Boiler'},
});

// Update: what this program has made, and a customer that the service had before.
await ada.update({phone_number: '555-0101'});
await boiler.update({name: 'Replace the boiler'});
const held = await Customer.findOne({
  where: {_deleted_at: null, customer_number: {[Op.gt]: 0}},
  order: ['customer_number'],
  rejectOnEmpty: true,
});
await held.update({fax: `${key} 555-0181`});

// Upsert, twice with the same keys.
const {account_id, customer_number} = held;
const conflictFields = ['account_id', 'external_key'];
for (const name of ['Grace', 'Grace Hopper'])
  await Customer.upsert({account_id, external_key: `${key}-C2`, name}, {conflictFields});
for (const name of ['Pump', 'Check the pump'])
  await Job.upsert(
    {account_id, customer_number, external_key: `${key}-J2`, name},
    {conflictFields},
  );

// Delete.
const gone = await Customer.create({external_key: `${key}-C3`, name: 'Gone'});
await gone.destroy();
const done = await Job.create({customer_number, external_key: `${key}-J3`, name: 'Gone'});
await done.destroy();

// Refused: only the service computes a balance.
try {
  await held.update({balance: 7});
} catch (error) {
  if (!(error instanceof DatabaseError)) throw error;
  console.log(error.message);
}
await sequelize.close();
