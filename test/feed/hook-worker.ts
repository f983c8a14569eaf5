// A worker that keeps the feed and does nothing else, as a process of its own that a test can kill.

import {createLogger} from '../../src/core/log.ts';
import {parseKeys} from '../../src/core/secret.ts';
import {FeedKeeper} from '../../src/feed/send-hooks.ts';
import {openPool} from '../../src/postgres/database.ts';

const {DATABASE_URL: directUrl = '', KEY: key = ''} = process.env;
const pool = openPool(directUrl, {max: 3, applicationName: 'worker'});
const keeper = new FeedKeeper({
  pool,
  directUrl,
  log: createLogger({level: 'silent', secrets: []}),
  means: {keys: parseKeys(key), allowsHttp: false, onSecret: () => {}},
  holds: () => false,
});
keeper.begin();
setInterval(() => keeper.wake(), 1_000);
