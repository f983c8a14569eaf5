import type {Queryable} from '../postgres/database.ts';

/** A value as the file gave it. */
export interface FileSetting {
  readonly section: string;
  readonly path: readonly string[];
  readonly value: unknown;
  readonly file: string;
}

/** Every value that a file gave, of all files that were applied. */
export async function listFileSettings(db: Queryable): Promise<FileSetting[]> {
  const {rows} = await db.query<FileSetting>(
    'SELECT section, path, value, file FROM sync.file_settings ORDER BY section, path',
  );
  return rows;
}

/** Lets one file after the other be applied; held until the transaction ends. */
export async function lockFileSettings(db: Queryable): Promise<void> {
  await db.query('LOCK TABLE sync.file_settings IN SHARE ROW EXCLUSIVE MODE');
}

/** Notes the values that a file gives; one that the same file gave before stays as it is. */
export async function noteFileSettings(
  db: Queryable,
  settings: readonly FileSetting[],
): Promise<void> {
  await db.query(
    `INSERT INTO sync.file_settings AS held (section, path, value, file)
     SELECT given.section, ARRAY(SELECT jsonb_array_elements_text(given.path)), given.value, given.file
       FROM jsonb_to_recordset($1::jsonb) AS given (section text, path jsonb, value jsonb, file text)
         ON CONFLICT (section, path) DO UPDATE
        SET value = EXCLUDED.value, file = EXCLUDED.file, applied_at = now(), applied_by = current_user
      WHERE (held.value, held.file) IS DISTINCT FROM (EXCLUDED.value, EXCLUDED.file)`,
    [JSON.stringify(settings)],
  );
}

/** Forgets what files gave at these places, and below them. */
export async function forgetFileSettings(
  db: Queryable,
  places: readonly Pick<FileSetting, 'section' | 'path'>[],
): Promise<void> {
  await db.query(
    `DELETE FROM sync.file_settings AS held
      USING jsonb_to_recordset($1::jsonb) AS gone (section text, path jsonb)
      WHERE held.section = gone.section
        AND held.path[1:jsonb_array_length(gone.path)] = ARRAY(SELECT jsonb_array_elements_text(gone.path))`,
    [JSON.stringify(places)],
  );
}
