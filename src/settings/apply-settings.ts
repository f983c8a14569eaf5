import type pg from 'pg';
import {
  type FileSetting,
  forgetFileSettings,
  lockFileSettings,
  noteFileSettings,
} from '../accounts/settings.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {planSettings, type SectionPlan, type SettingsPlan} from './plan-settings.ts';
import type {Environment} from './section.ts';
import {find, listPatches, type Patch, toTree} from './settings-tree.ts';

/**
 * Brings the warehouse in line with a file, in one transaction: all of it, or nothing.
 * @param file - its name, to be told by doctor; null where a verb sets the values, and no file
 * @returns what was changed; with problems nothing was
 */
export async function applySettings(
  pool: pg.Pool,
  {patch, file}: {readonly patch: Patch; readonly file: string | null},
  environment: Environment,
): Promise<SettingsPlan> {
  return await inTransaction(pool, async (client) => {
    await lockFileSettings(client);
    const plan = await planSettings(client, patch, environment);
    if (plan.problems.length > 0) return plan;
    for (const {section, differences, ...change} of plan.sections)
      if (differences.length > 0) await section.apply(client, change);
    await refuseRest(client, patch, environment);
    if (file !== null) await noteOrigins(client, plan.sections, file);
    return plan;
  });
}

/** Rows that a rule of the database made something else of are not what was asked for. */
async function refuseRest(db: Queryable, patch: Patch, environment: Environment): Promise<void> {
  const {sections} = await planSettings(db, patch, environment);
  const rest = sections.flatMap(({section, differences}) =>
    differences.map(({path}) => [section.name, ...path].join(' / ')),
  );
  if (rest.length === 0) return;
  throw new Error(
    `config apply: expected nothing left to change, got ${rest.join(', ')}; nothing was written`,
  );
}

/** Notes which values a file gave. A value that the environment gives is not one of them. */
async function noteOrigins(
  db: Queryable,
  plans: readonly SectionPlan[],
  file: string,
): Promise<void> {
  const given: FileSetting[] = [];
  const gone: Pick<FileSetting, 'section' | 'path'>[] = [];
  for (const {section, patch, overridden, differences} of plans) {
    const removed = differences.filter(({to}) => to === null);
    gone.push(...removed.map(({path}) => ({section: section.name, path})));
    const others = toTree(overridden.map(({path, inEnvironment: value}) => ({path, value})));
    for (const {path, value} of listPatches(patch)) {
      const place = {section: section.name, path};
      if (value === null || find(others, path) !== undefined) gone.push(place);
      else given.push({...place, value, file});
    }
  }
  await forgetFileSettings(db, gone);
  await noteFileSettings(db, given);
}
