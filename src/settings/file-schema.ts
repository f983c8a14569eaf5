import {z} from 'zod';
import {allSections} from './all-sections.ts';
import type {Patch} from './settings-tree.ts';

/** The shape of a whole file, where every section may be left out. */
export const fileSchema: z.ZodType<Patch> = z
  .strictObject(
    Object.fromEntries(
      allSections.map(({name, schema, about}) => [
        name,
        schema.describe(about.join(' ')).exactOptional(),
      ]),
    ),
  )
  .describe('Settings of Fieldmirror: what is not named is left alone; null takes away.');

/** The same as a JSON Schema, for editors. */
export function toJsonSchema(): Record<string, unknown> {
  return {...z.toJSONSchema(fileSchema, {io: 'input'}), title: 'fieldmirror.yaml'};
}
