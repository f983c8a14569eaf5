// The verb `url`: the address of the warehouse, for a tool that takes one.

import {join} from 'node:path';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {tellAside} from '../core/text.ts';
import {findEmbedded} from '../postgres/embedded.ts';
import {callOf} from './next-steps.ts';
import {requireEmbedded} from './postgres-require-embedded.ts';
import {print} from './report.ts';

export interface UrlOptions {
  /** Whether the password is part of what is printed. */
  readonly password: boolean;
  readonly json: boolean;
}

/**
 * Prints the address of the warehouse, without its password unless that is asked for: screens are
 * shared, and output is kept in logs.
 * @throws {FatalError} there is no embedded Postgres, or it rests: its port is another one each
 *   time
 */
export async function url(config: Config, {password, json}: UrlOptions): Promise<number> {
  if (config.databaseUrl === null) requireEmbedded(config.home);
  const whole = config.databaseUrl ?? (await findEmbedded(config.home));
  if (whole === null) throw new FatalError(describeRest(config.home));
  const bare = withoutPassword(whole);
  const shown = password ? whole : bare;
  print(json, {json: {url: shown}, text: shown});
  if (!json && shown !== whole)
    tellAside(`its password is left out: ${describePassword(config)}\n`);
  return 0;
}

/** Libpq takes a password as a parameter, too. */
export function withoutPassword(address: string): string {
  const shown = new URL(address);
  shown.password = '';
  for (const name of ['password', 'sslpassword']) shown.searchParams.delete(name);
  return shown.href;
}

function describeRest(home: string): string {
  return `url: expected the embedded Postgres in ${join(home, 'postgres')} to run, but it rests: it runs for as long as ${callOf('start')} does; ${callOf('psql')} starts it by itself`;
}

function describePassword({databaseUrl, home}: Config): string {
  const place = databaseUrl === null ? join(home, 'postgres.password') : 'DATABASE_URL';
  return `${place} has it, and fieldmirror url --password prints it`;
}
