// The verb `init`: an account and a warehouse, each tried before anything of it is kept. The token
// stands in a file for its owner alone; it is never an argument, and never printed.

import {existsSync} from 'node:fs';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {envFileOf, expectFile, readEnvFile, writeEnvFile} from './env-file.ts';
import {Asker} from './init-asker.ts';
import {chooseKey, describeKey, type KeyChoice} from './init-choose-key.ts';
import {findAccount, findZone} from './init-find-account.ts';
import {keepAccount, settingsFile} from './init-keep-account.ts';
import {refuseMadeUpHome} from './init-refuse-made-up.ts';
import {callOf} from './next-steps.ts';
import {print} from './report.ts';

export interface InitOptions {
  readonly name?: string;
  readonly url?: string;
  readonly timeZone?: string;
  /** The embedded Postgres, without asking for another. */
  readonly embedded: boolean;
  /** Whether files that are there may be changed without asking. */
  readonly force: boolean;
  readonly json: boolean;
}

/**
 * Asks for an account and a warehouse, tries both, and keeps them: `.env` and `fieldmirror.yaml`,
 * and a row of the warehouse. Without a terminal the options stand for the answers, and the token
 * comes from standard input.
 * @throws {UsageError} an answer that cannot be, or files that are there
 * @throws {AccessError | RetryableError | FatalError} the service or the warehouse refuses us:
 *   nothing is kept
 */
export async function init(config: Config, options: InitOptions): Promise<number> {
  const asker = process.stdin.isTTY ? new Asker() : null;
  try {
    const envFile = envFileOf(process.env);
    await refuseFiles(asker, envFile, options.force);
    await refuseMadeUpHome(config, options.embedded);
    const found = await findAccount(asker, config, options);
    const timeZone = await findZone(asker, found.page, options.timeZone);
    const account = {...found, timeZone};
    const kept = await keepAccount(
      asker,
      {...config, settings: []},
      {account, embedded: options.embedded},
    );
    const key = chooseKey(config.keys, kept.sealedWith);
    writeEnvFile(envFile, {
      FIELDMIRROR_API_URL: account.apiUrl,
      FIELDMIRROR_API_TOKEN: account.token.reveal(),
      FIELDMIRROR_TIME_ZONE: timeZone,
      DATABASE_URL: kept.databaseUrl,
      DATABASE_DIRECT_URL: kept.directUrl,
      ...(config.allowsHttp ? {FIELDMIRROR_ALLOW_HTTP: '1'} : {}),
      ...(config.allowsLinkLocal ? {FIELDMIRROR_ALLOW_LINK_LOCAL: '1'} : {}),
      ...(key.made === null ? {} : {FIELDMIRROR_KEY: key.made.reveal()}),
    });
    const {name, apiUrl} = account;
    // The embedded Postgres has another port each time.
    const place = kept.place.replace(/, port \d+$/, '');
    print(options.json, {
      json: {
        ...{account: {name, apiUrl, timeZone}, place, files: [envFile, settingsFile]},
        key: {id: key.id, isNew: key.made !== null, missing: key.missing},
      },
      text: describe({name, apiUrl, timeZone, place, envFile, key}),
    });
    return 0;
  } finally {
    asker?.close();
  }
}

async function refuseFiles(asker: Asker | null, envFile: string, force: boolean): Promise<void> {
  expectFile(envFile);
  const hasSettings = Object.keys(readEnvFile(process.env, {isAnew: true})).length > 0;
  const there = [
    ...(hasSettings ? [envFile] : []),
    ...(existsSync(settingsFile) ? [settingsFile] : []),
  ];
  if (there.length === 0 || force) return;
  const names = there.join(' and ');
  const kept = `in ${envFile} the account and the warehouse are replaced, other lines stay; ${settingsFile} is written anew`;
  if (asker === null)
    throw new UsageError(
      `init: expected no settings yet, got ${names}; with --force ${kept}. Nothing was done`,
    );
  const question = `There are settings already, in ${names}: ${kept}. Go on, yes or no`;
  const goesOn = await asker.ask(question, 'no', (answer) => /^y(es)?$/i.test(answer));
  if (!goesOn) throw new UsageError('init: nothing was done');
}

function describe(done: {
  readonly name: string;
  readonly apiUrl: string;
  readonly timeZone: string;
  readonly place: string;
  readonly envFile: string;
  readonly key: KeyChoice;
}): string {
  const call = (verb: string) => callOf(verb);
  return [
    `account ${done.name} (${done.apiUrl}, ${done.timeZone}) answers, and the warehouse is ready: ${done.place}`,
    '',
    `  ${done.envFile}  has the token and the addresses, for you alone: keep it out of repositories`,
    `  ${settingsFile}  has the other settings: change it, then ${call('config apply')}`,
    '',
    ...describeKey(done.key, done.envFile),
    '',
    'What next:',
    `  ${call('start')}  # mirrors the account, stays, and prints a link to the console`,
  ].join('\n');
}
