import pg from 'pg';

/** Uses a session of its own, with the settings that the server gives to any client. */
export async function withClient<T>(
  url: string,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({connectionString: url});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/**
 * A pool of such sessions. Its end waits for none of its connections: a database that is dropped
 * next may end the last of them by force, and without a listener that would end the process.
 */
export function openPlainPool(url: string, options: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({connectionString: url, ...options});
  pool.on('error', () => {});
  return pool;
}
