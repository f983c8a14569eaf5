// One round of a worker's alerts, or with STAYS one after the other, as a process of its own that a
// test can kill.

import {checkForProblems, sendAlerts} from '../../src/cli/start-parts.ts';
import {createLogger} from '../../src/core/log.ts';
import {parseKeys, Secret} from '../../src/core/secret.ts';
import {openPool} from '../../src/postgres/database.ts';

const {DATABASE_URL: databaseUrl = '', KEY: key = '', SMTP_URL: smtpUrl = ''} = process.env;
const pool = openPool(databaseUrl, {max: 2, applicationName: 'worker'});
const config = {
  keys: parseKeys(key),
  bounds: null,
  databaseUrl,
  directUrl: null,
  home: '',
  smtpUrl: new Secret(smtpUrl),
  allowsHttp: false,
  allowsLinkLocal: false,
};
const deps = {pool, log: createLogger({level: 'silent', secrets: []}), config, onSecret: () => {}};
do {
  await checkForProblems(deps);
  await sendAlerts(deps);
} while (process.env.STAYS === '1');
await pool.end();
