// The weekly reports of a worker, made and sent once, as a process of its own that a test can kill.

import {createLogger} from '../../src/core/log.ts';
import {Secret} from '../../src/core/secret.ts';
import {mailReports} from '../../src/delivery/report-mails.ts';
import {openPool} from '../../src/postgres/database.ts';

const {DATABASE_URL: databaseUrl = '', SMTP_URL: smtpUrl = ''} = process.env;
const pool = openPool(databaseUrl, {max: 2, applicationName: 'worker'});
await mailReports({
  pool,
  log: createLogger({level: 'silent', secrets: []}),
  onSecret: () => {},
  smtpUrl: new Secret(smtpUrl),
  allowsHttp: false,
  consoleUrl: null,
});
await pool.end();
