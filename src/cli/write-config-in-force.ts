import {access, mkdir, rename, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import {UsageError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';
import {allSections} from '../settings/all-sections.ts';
import {drawFile, type Held, selectShown} from './draw-config-file.ts';

/** The file that editors read the schema from, where it lies beside the settings. */
const schemaFile = 'fieldmirror.schema.json';

/**
 * Draws the settings in force as a file, and writes it where one is named.
 * @throws {UsageError} the file cannot be written
 */
export async function writeInForce(db: Queryable, file: string | undefined) {
  const held: Held[] = [];
  for (const section of allSections) held.push({section, tree: await section.read(db)});
  const hasSchema = file !== undefined && (await isThere(join(dirname(file), schemaFile)));
  const text = drawFile(held, hasSchema ? `./${schemaFile}` : null);
  if (file !== undefined) await write(file, text);
  const settings = Object.fromEntries(held.map((each) => [each.section.name, selectShown(each)]));
  return {text, settings};
}

export async function isThere(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  );
}

/** Under another name until it is whole; its folder is made. */
export async function write(file: string, text: string): Promise<void> {
  const part = `${file}.part`;
  try {
    await mkdir(dirname(file), {recursive: true});
    await writeFile(part, text);
    await rename(part, file);
  } catch (error) {
    throw new UsageError(`${file}: expected a file that can be written, got ${String(error)}`, {
      cause: error,
    });
  }
}
