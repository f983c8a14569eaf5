import {createDatabase} from './postgres.ts';
import {openService, type TestService, timeZone} from './world.ts';

/** A service and a warehouse, and the environment in which a command finds both. */
export interface Place {
  readonly service: TestService;
  readonly databaseUrl: string;
  readonly env: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** @param template - the database to copy the warehouse from; an empty one when not given */
export async function openPlace(
  options: Parameters<typeof openService>[0] = {},
  template?: string,
): Promise<Place> {
  const service = await openService(options);
  const database = await createDatabase(template);
  const env = {
    FIELDMIRROR_API_URL: service.url,
    FIELDMIRROR_API_TOKEN: service.token,
    FIELDMIRROR_TIME_ZONE: timeZone,
    DATABASE_URL: database.url,
  };
  const close = async () => {
    await service.close();
    await database.drop();
  };
  return {service, databaseUrl: database.url, env, close};
}
