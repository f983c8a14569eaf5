import {defineConfig} from 'drizzle-kit';

export default defineConfig({
  dialect: 'postgresql',
  schema: './drizzle.schema.cts',
  out: './migrations',
  migrations: {schema: 'sync', table: 'migrations'},
  schemaFilter: ['warehouse', 'sync'],
});
