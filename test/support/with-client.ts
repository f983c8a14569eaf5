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
