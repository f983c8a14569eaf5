// The verb `doctor`: it tries each dependency, and prints each problem with its fix.

import {join} from 'node:path';
import type pg from 'pg';
import {inspectRedis} from '../../jobs/redis.ts';
import {
  type Account,
  listAccounts,
  readAccountAccess,
  toServiceAddress,
} from '../accounts/accounts.ts';
import {openToken} from '../accounts/open-accounts.ts';
import {listWorkers} from '../accounts/workers.ts';
import {describeAddressStep, type Problem} from '../alerts/alerts.ts';
import {listRuleHealth} from '../alerts/deliveries.ts';
import {
  findFailingHooks,
  findFailingRules,
  findLateParts,
  findLockProblems,
  findStarProblems,
  findWorkerProblems,
  formatWorkers,
  type Workforce,
} from '../alerts/installation-problems.ts';
import {
  findDeliveryProblems,
  findReportProblems,
  formatReportLists,
  formatTargets,
  readPartFacts,
} from '../alerts/problems.ts';
import type {RunCheck} from '../console/page.ts';
import type {Config} from '../core/config.ts';
import {FatalError} from '../core/errors.ts';
import {demoName} from '../core/names.ts';
import {inTone} from '../core/text.ts';
import {listReportLists, listTargets} from '../delivery/targets.ts';
import {listHooks} from '../feed/hooks.ts';
import {readAccounts} from '../health/account-status.ts';
import {describeCopy, fixForCopy, namePlace, readInstallationRow} from '../health/installation.ts';
import {
  checkDirect,
  describeAhead,
  describeSpent,
  findSpentSequences,
  readClockAheadMs,
  readNow,
  readServer,
} from '../postgres/checks.ts';
import {openPool} from '../postgres/database.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {hasEmbedded, openEmbeddedPostgres} from '../postgres/embedded.ts';
import {listBlockingSessions} from '../postgres/lock-waits.ts';
import {describeRetention, readRetention} from '../retention/retention.ts';
import {
  checkPublic,
  checkRoles,
  describeLargeObjects,
  describePublicSchema,
  describeRoles,
  describeTemporary,
  findLostAuthors,
} from '../schema/checks.ts';
import {findSchemaProblem} from '../schema/migrate.ts';
import type {ActiveSetting} from '../settings/settings.ts';
import {readWaitingSince} from '../star/mart.ts';
import {allTables} from '../streams/all.ts';
import {readClock} from '../sweeps/tombstones.ts';
import {
  type AccountAddress,
  examineAccount,
  findZoneMismatch,
  requestAccount,
} from './accounts-check.ts';
import {compareSettings, formatSettings} from './settings.ts';
import {UnlockedReader} from './status.ts';
import {print, wrap} from './terminal.ts';
import {briefLockTimeoutMs} from './warehouse.ts';

const maxClockMs = 2_000;
const doctorPool = {
  max: 1,
  applicationName: 'fieldmirror doctor',
  lockTimeoutMs: briefLockTimeoutMs,
} as const;

const good = (what: string, found: string): RunCheck => ({what, state: 'good', found});
const warning = (what: string, found: string): RunCheck => ({what, state: 'warning', found});
const bad = (what: string, found: string): RunCheck => ({what, state: 'bad', found});

/**
 * Checks every dependency separately: one that is down does not hide the problems of the next.
 * @returns the exit code: 3 if something is bad, 1 if something is risky
 */
export async function doctor(
  config: Config,
  options: {readonly json: boolean; readonly all: boolean},
): Promise<number> {
  const settings: ActiveSetting[] = [];
  const findings = await examine(config, (inForce) => settings.push(...inForce));
  const lines = findings.map(({what, state, found}) =>
    wrap(`${inTone(state)}${' '.repeat(9 - state.length)}${what}: ${found}`, 9),
  );
  print(options.json, {
    json: {findings, settings: [...config.settings, ...settings]},
    text: [
      formatSettings({settings: config.settings, inForce: settings}, options),
      '',
      ...lines,
    ].join('\n'),
  });
  if (findings.some(({state}) => state === 'bad')) return 3;
  return findings.some(({state}) => state === 'warning') ? 1 : 0;
}

/**
 * Checks every dependency separately.
 * @param reportSettings - receives the settings that are rows, if the schema is good
 */
export async function examine(
  config: Config,
  reportSettings: (settings: readonly ActiveSetting[]) => void = () => {},
): Promise<readonly RunCheck[]> {
  return [
    ...(await checkPostgres(config, reportSettings)),
    ...(await checkRedis(config)),
    ...(await checkApi(config)),
  ];
}

/** Turns the error of a check into a finding, with a hint for its fix. */
async function runCheck(
  what: string,
  check: () => Promise<RunCheck[]>,
  hint = '',
): Promise<RunCheck[]> {
  try {
    return await check();
  } catch (error) {
    return [bad(what, `${error instanceof Error ? error.message : String(error)}${hint}`)];
  }
}

async function checkPostgres(
  config: Config,
  reportSettings: (settings: readonly ActiveSetting[]) => void,
): Promise<RunCheck[]> {
  return await runCheck('Postgres', async () => {
    if (config.databaseUrl === null && !hasEmbedded(config.home)) return [noPostgres(config)];
    const embedded = config.databaseUrl === null ? await openEmbeddedPostgres(config.home) : null;
    const url = config.databaseUrl ?? (await embedded?.url('warehouse')) ?? '';
    const {directUrl} = config;
    const pool = openPool(url, {...doctorPool, sharesSessions: directUrl !== null});
    try {
      const sessions = directUrl === null ? [] : await checkSessions(pool, directUrl);
      const schema = await checkUnlocked('migrations', pool, async () => [await checkSchema(pool)]);
      const contents = schema.every(({state}) => state === 'good')
        ? await checkContents(config, pool, reportSettings)
        : [];
      const [version, clock] = [await checkVersion(pool), await checkDatabaseClock(pool)];
      return [version, ...sessions, ...schema, clock, ...(await checkLocks(pool)), ...contents];
    } catch (error) {
      throw explainDatabaseError(error, url);
    } finally {
      await pool.end();
      await embedded?.leave();
    }
  });
}

/** Checks whether a session of another program blocks Fieldmirror. It reads only the catalogue. */
async function checkLocks(pool: pg.Pool): Promise<RunCheck[]> {
  const problems = findLockProblems(await listBlockingSessions(pool), await readNow(pool));
  if (problems.length > 0) return problems.map((problem) => warnOfProblem('locks', problem));
  return [good('locks', 'no session of somebody else has held Fieldmirror up for long')];
}

/** Checks the contents of a good schema. A lock of another session is a separate finding. */
async function checkContents(
  config: Config,
  pool: pg.Pool,
  reportSettings: (settings: readonly ActiveSetting[]) => void,
): Promise<RunCheck[]> {
  const checks: Readonly<Record<string, () => Promise<RunCheck[]>>> = {
    installation: async () => [await checkInstallation(config, pool)],
    roles: async () => await checkGrants(pool),
    'every login': () => checkEveryLogin(pool),
    sequences: () => checkNumbers(pool),
    retention: async () => [
      good('retention', describeRetention(await readRetention(pool), await readNow(pool))),
    ],
    worker: () => checkWorkers(config, pool),
    accounts: () => checkSealed(config, pool),
    background: () => checkParts(pool),
    subscribers: () => checkHooks(config, pool),
    delivery: () => checkTargets(pool),
    reports: () => checkReports(config, pool),
    alerts: () => checkAlerts(config, pool),
    settings: async () => {
      const {inForce, problem} = await compareSettings(config, pool);
      reportSettings(inForce);
      return problem === null ? [] : [warning('settings', problem)];
    },
  };
  const findings: RunCheck[] = [];
  for (const [what, check] of Object.entries(checks))
    findings.push(...(await checkUnlocked(what, pool, check)));
  return findings;
}

/** Turns a locked part into a finding that names the holder of the lock. */
async function checkUnlocked(
  what: string,
  pool: pg.Pool,
  check: () => Promise<RunCheck[]>,
): Promise<RunCheck[]> {
  const reader = new UnlockedReader(pool.options.connectionString ?? '');
  const findings = await reader.read(what, check);
  return findings ?? reader.unread.map(({reason}) => bad(what, reason));
}

/** The doctor creates no Postgres. */
function noPostgres({home}: Config): RunCheck {
  return warning(
    'Postgres',
    `none exists yet in ${join(home, 'postgres')}; fieldmirror start makes it, ` +
      'or DATABASE_URL names another',
  );
}

/** If a pooler is in between: checks that the direct address gives sessions of our own. */
async function checkSessions(pool: pg.Pool, directUrl: string): Promise<RunCheck[]> {
  const direct = openPool(directUrl, doctorPool);
  try {
    return await runCheck('direct Postgres', async () => {
      await checkDirect(pool, direct);
      return [
        good(
          'direct Postgres',
          'the same database, in sessions of our own; LISTEN and the queue use them',
        ),
      ];
    });
  } finally {
    await direct.end();
  }
}

async function checkVersion(pool: pg.Pool): Promise<RunCheck> {
  const {version, problem} = await readServer(pool);
  if (Number.parseInt(version, 10) < 15)
    return bad('Postgres', `expected version 15 or newer, got ${version}; upgrade it`);
  if (problem !== null) return warning('Postgres', `version ${version}, and ${problem}`);
  return good('Postgres', `version ${version}`);
}

async function checkSchema(pool: pg.Pool): Promise<RunCheck> {
  const problem = await findSchemaProblem(pool);
  if (problem !== null) return bad(problem.what, problem.found);
  return good('migrations', `all applied, ${allTables.length} tables`);
}

/** Checks that nothing indicates a copy, in which no worker runs. */
async function checkInstallation(config: Config, pool: pg.Pool): Promise<RunCheck> {
  const copy = describeCopy(await readInstallationRow(pool), await namePlace(config));
  if (copy !== null) return bad('installation', `${copy}; ${fixForCopy}`);
  return good('installation', 'this database is the one that works for its accounts');
}

/** Checks that the roles exist, and have their rights. */
async function checkGrants(pool: pg.Pool): Promise<RunCheck[]> {
  const problem = describeRoles(await checkRoles(pool));
  const lost = await findLostAuthors(pool);
  const hasRights = good('roles', 'all four are there, with their rights');
  const roles = problem === null ? hasRights : warning('roles', problem);
  return lost === null ? [roles] : [roles, warning('authors', lost)];
}

/** Checks that rights which Postgres gives to every login are revoked. */
async function checkEveryLogin(pool: pg.Pool): Promise<RunCheck[]> {
  const rights = await checkPublic(pool);
  if (rights === null) return [];
  const problem = describeTemporary(rights) ?? describePublicSchema(rights);
  if (problem !== null) return [warning('every login', problem)];
  return [good('every login', `makes no temporary tables; ${describeLargeObjects(rights)}`)];
}

async function checkNumbers(pool: pg.Pool): Promise<RunCheck[]> {
  const spentSequences = await findSpentSequences(pool);
  if (spentSequences.length === 0) return [good('sequences', 'all ahead of their tables')];
  return spentSequences.map((sequence) => bad('sequences', describeSpent(sequence)));
}

async function checkDatabaseClock(pool: pg.Pool): Promise<RunCheck> {
  return compareClocks("Postgres' clock", await readClockAheadMs(pool));
}

/** @param resolutionMs - the resolution of the other clock */
function compareClocks(what: string, aheadMs: number, resolutionMs = 0): RunCheck {
  const limit = `${maxClockMs / 1000} s`;
  if (Math.abs(aheadMs) <= maxClockMs + resolutionMs)
    return good(what, `within ${limit} of our clock`);
  const gap = describeAhead(aheadMs);
  return bad(
    what,
    `expected at most ${limit} apart, got ${gap}; set both by NTP (timedatectl set-ntp true)`,
  );
}

async function checkRedis({redisUrl}: Config): Promise<RunCheck[]> {
  if (redisUrl === null) return [good('queue', 'in the same Postgres (REDIS_URL is not set)')];
  return await runCheck('Redis', async () => {
    const {reached, problems} = await inspectRedis(redisUrl);
    const goodFinding = good('Redis', 'append-only file on, nothing is evicted');
    const findings =
      problems.length === 0 ? [goodFinding] : problems.map((problem) => warning('Redis', problem));
    return [good('queue', `on ${reached}`), ...findings];
  });
}

/** Checks that a worker is alive, and that every account that should be served is served. */
async function checkWorkers(config: Config, pool: pg.Pool): Promise<RunCheck[]> {
  const {now, accounts} = await readAccounts(pool, await listAccounts(pool));
  const workforce = await readWorkforce(config, pool);
  const problems = findWorkerProblems(accounts, workforce, now);
  const summary = formatWorkers(workforce.workers, now).replaceAll(/^worker +/gm, '');
  if (problems.length === 0) return [good('worker', summary)];
  return problems.map((problem) => warnOfProblem('worker', problem));
}

/** Checks that every background part of the workers runs, and that mart is not behind. */
async function checkParts(pool: pg.Pool): Promise<RunCheck[]> {
  const facts = await readPartFacts(pool);
  const now = await readNow(pool);
  const problems = [
    ...findLateParts(facts, now),
    ...findStarProblems(await readWaitingSince(pool), now),
  ];
  if (problems.length > 0) return problems.map((problem) => warnOfProblem('background', problem));
  const names = [...new Set(facts.parts.map(({part}) => part))];
  return [
    good(
      'background',
      names.length === 0 ? 'no worker has noted its parts' : `running: ${names.join(', ')}`,
    ),
  ];
}

/** Checks that the subscribers of the feed receive it. */
async function checkHooks(config: Config, pool: pg.Pool): Promise<RunCheck[]> {
  const hooks = await listHooks(pool);
  const problems = findFailingHooks(hooks, await readWorkforce(config, pool), await readNow(pool));
  if (problems.length > 0) return problems.map((problem) => warnOfProblem('subscribers', problem));
  return hooks.length === 0
    ? []
    : [good('subscribers', `${hooks.length} of the feed, none is held up`)];
}

/** Checks that each target of the star has received the last night's snapshot. */
async function checkTargets(pool: pg.Pool): Promise<RunCheck[]> {
  const targets = await listTargets(pool);
  const now = await readNow(pool);
  const problems = findDeliveryProblems(targets, now);
  if (problems.length > 0) return problems.map((problem) => warnOfProblem('delivery', problem));
  const lines = formatTargets(targets, now).split('\n');
  return targets.length === 0
    ? []
    : lines.map((line) => good('delivery', line.replace(/^delivery +/, '')));
}

/** Checks that the weekly report reaches each list of addresses. */
async function checkReports(config: Config, pool: pg.Pool): Promise<RunCheck[]> {
  const lists = await listReportLists(pool);
  const now = await readNow(pool);
  const problems = findReportProblems(lists, await readWorkforce(config, pool), now);
  if (problems.length > 0) return problems.map((problem) => warnOfProblem('reports', problem));
  const lines = formatReportLists(lists, now).split('\n');
  return lists.length === 0
    ? []
    : lines.map((line) => good('reports', line.replace(/^reports +/, '')));
}

async function readWorkforce({keys}: Config, pool: pg.Pool): Promise<Workforce> {
  return {workers: await listWorkers(pool), keyIds: keys.map(({id}) => id)};
}

function warnOfProblem(what: string, {account, text, next}: Problem): RunCheck {
  const words = [
    account === null ? text : `account ${account}: ${text}`,
    ...(next === null ? [] : [next]),
  ];
  return {...warning(what, words.join('; ')), ...(account === null ? {} : {account})};
}

/** Checks that somebody receives alerts, and that the messages arrive. */
async function checkAlerts(config: Config, pool: pg.Pool): Promise<RunCheck[]> {
  const rules = await listRuleHealth(pool);
  const failing = findFailingRules(rules, await readWorkforce(config, pool), await readClock(pool));
  // A person who has just applied a file wants to see a missing address before it is a problem.
  const waiting = rules
    .filter(({hasAddress, failingSince}) => !hasAddress && failingSince === null)
    .map(({rule, receiver}) => ({
      text: `alert rule ${rule} waits for its address`,
      next: describeAddressStep(rule, receiver),
    }));
  const problems = [...failing, ...waiting];
  if (problems.length > 0)
    return problems.map(({text, next}) => warning('alerts', `${text}; ${next}`));
  if (rules.length === 0) {
    const text =
      'no rule: no one is notified of problems; fieldmirror alerts add NAME --email ADDRESS';
    const isReal = (await listAccounts(pool)).some(({name}) => name !== demoName);
    return [isReal ? warning('alerts', text) : good('alerts', text)];
  }
  return [
    good(
      'alerts',
      `${rules.length === 1 ? '1 rule' : `${rules.length} rules`}, no message is held up`,
    ),
  ];
}

/** Checks every account whose token is sealed in the warehouse, with one light request each. */
async function checkSealed(config: Config, pool: pg.Pool): Promise<RunCheck[]> {
  const sealed = (await listAccounts(pool)).filter(
    ({keyId, apiUrl}) =>
      keyId !== null && toServiceAddress(config.account?.apiUrl ?? '') !== toServiceAddress(apiUrl),
  );
  return await Promise.all(
    sealed.map(async (account) => ({
      ...(await checkAccount(config, pool, account)),
      account: account.name,
    })),
  );
}

async function checkAccount(config: Config, pool: pg.Pool, account: Account): Promise<RunCheck> {
  const {name, state, stateReason} = account;
  const what = `account ${name}`;
  try {
    const {sealed = null} = (await readAccountAccess(pool, account.accountId)) ?? {};
    const token = openToken({...account, sealed}, config.keys);
    const {verdict, found} = await examineAccount({
      ...account,
      token,
      allowsHttp: config.allowsHttp,
      allowsLinkLocal: config.allowsLinkLocal,
    });
    if (verdict !== 'good') return bad(what, found);
    if (state === 'active') return good(what, found);
    return warning(
      what,
      `it is ${state}${stateReason === null ? '' : ` (${stateReason})`}, ` +
        `and answers now: fieldmirror accounts resume ${name}`,
    );
  } catch (error) {
    if (error instanceof FatalError) return bad(what, error.message);
    throw error;
  }
}

async function checkApi(config: Config): Promise<RunCheck[]> {
  const {account, allowsHttp, allowsLinkLocal, keys, timeZone} = config;
  if (account === null && keys.length > 0)
    return [good('API', 'no account in the environment, but a key')];
  if (account === null)
    return [
      good('API', 'the reference service with made-up data (FIELDMIRROR_API_URL is not set)'),
    ];
  return await runCheck(
    'API',
    () => checkApiAnswer({...account, allowsHttp, allowsLinkLocal}, timeZone),
    '; see FIELDMIRROR_API_URL and FIELDMIRROR_API_TOKEN',
  );
}

async function checkApiAnswer(address: AccountAddress, timeZone: string): Promise<RunCheck[]> {
  const startMs = Date.now();
  const page = await requestAccount(address);
  const localMs = (startMs + Date.now()) / 2;
  const mismatch = findZoneMismatch(page.body.toString(), timeZone);
  const findings = [
    good('API', `answers, and takes the token (${Math.round(page.ms)} ms)`),
    mismatch === null
      ? good('time zone', `${timeZone}: nothing speaks against it`)
      : bad('time zone', `FIELDMIRROR_TIME_ZONE: ${mismatch}`),
  ];
  if (page.dateHeader === null) return findings;
  // A Date header has whole seconds, rounded down.
  return [
    ...findings,
    compareClocks("the service's clock", Date.parse(page.dateHeader) + 500 - localMs, 500),
  ];
}
