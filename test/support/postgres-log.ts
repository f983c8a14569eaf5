import {inject} from 'vitest';
import {withClient} from './with-client.ts';

/** The log of the server that all tests share. Only a superuser may read it. */
export async function readPostgresLog(): Promise<string> {
  return await withClient(inject('superuserUrl'), async (superuser) => {
    const {rows} = await superuser.query<{log: string}>(
      `SELECT encode(pg_read_binary_file(current_setting('data_directory') || '/postgres.log'),
        'escape') AS log`,
    );
    return rows[0]?.log ?? '';
  });
}
