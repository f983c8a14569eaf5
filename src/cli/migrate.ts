import {migrateQueue} from '../../jobs/queue-schema.ts';
import type {Config} from '../core/config.ts';
import {definitions} from '../schema/all-definitions.ts';
import {migrate as runMigrations} from '../schema/migrate.ts';
import {checkRoles, describeRoles, listRoleStatements} from '../schema/roles.ts';
import {print} from './report.ts';
import {tellWait, withWarehouse} from './with-warehouse.ts';

/**
 * Brings the schema of the warehouse up to date, and that of the queue where it is in Postgres;
 * nothing else.
 */
export async function migrate(config: Config, options: {readonly json: boolean}): Promise<number> {
  return await withWarehouse(
    config,
    {migrates: false, makes: true},
    async ({direct, directUrl, place}) => {
      const {applied} = await runMigrations(direct, definitions, true, {tell: tellWait});
      // A worker may not make the tables of the queue: a login that may, makes them here.
      if (config.redisUrl === null) await migrateQueue(directUrl, {tell: tellWait});
      const done = applied === 1 ? '1 migration' : `${applied} migrations`;
      const text = applied === 0 ? `${place}: nothing to do` : `${place}: ${done} applied`;
      const roles = await checkRoles(direct);
      const lack = describeRoles(roles);
      print(options.json, {
        json: {applied, roles: {missing: roles.missing, statements: listRoleStatements(roles)}},
        text: lack === null ? text : `${text}\nroles: ${lack}`,
      });
      return 0;
    },
  );
}
