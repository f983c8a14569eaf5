import type pg from 'pg';
import type {Client} from '../api/client.ts';
import type {Logger} from '../log.ts';
import type {PageReader} from './page-reader.ts';

/** What a sweep stands on. */
export interface SweepDeps {
  readonly pool: pg.Pool;
  /** Of the pool, to say in errors where it is; never printed as it stands. */
  readonly databaseUrl: string;
  readonly api: Client;
  readonly pageReader: PageReader;
  readonly timeZone: string;
  readonly log: Logger;
  /** Told after every batch; for a person who watches. */
  readonly onProgress?: (progress: SweepProgress) => void;
}

export interface SweepProgress {
  readonly stream: string;
  readonly records: number;
}
