// What drizzle-kit reads. It knows a table only by an export of its own, and a stream's tables are values inside the
// stream: so the exports are made here, by name, and a new stream needs no line in this file. The schema `sync` is left
// out: the migrator makes it for its own table, before the first migration runs.
const {allTables} = require('./src/streams/all.ts');
const {toDrizzle, warehouse} = require('./src/schema/tables.ts');
const {mart, martTables} = require('./src/star/tables.ts');
const {syncTables} = require('./src/schema/tables.ts');

module.exports = {
  mart,
  warehouse,
  ...Object.fromEntries(allTables.map((table) => [`warehouse.${table.name}`, toDrizzle(table)])),
  ...Object.fromEntries(syncTables.map((table, at) => [`sync.${at}`, table.drizzle])),
  ...Object.fromEntries(martTables.map((table, at) => [`mart.${at}`, table.drizzle])),
};
