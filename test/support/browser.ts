import {existsSync} from 'node:fs';
import {type Browser, chromium} from 'playwright-core';

/** Where Debian and others put it; playwright's own browsers are not downloaded. */
const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

const options = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  // A browser that starts looks for its maker: here it asks for nothing but our pages.
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Starts a real browser. @throws where the machine has none: `apt-get install chromium` */
export async function openBrowser(): Promise<Browser> {
  const executablePath = places.find(existsSync);
  if (executablePath === undefined)
    throw new Error('no Chromium on this machine: apt-get install chromium');
  return await chromium.launch({executablePath, args: options});
}
