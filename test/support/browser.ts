import {existsSync} from 'node:fs';
import {type Browser, chromium} from 'playwright-core';

/**
 * Where Debian and others put it; playwright's own browsers are not downloaded. The first has no
 * windows of its own to draw: a page takes it a fifth of the CPU that it takes the others.
 */
const places = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

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

/** Starts a real browser. @throws {Error} the machine has none */
export async function openBrowser(): Promise<Browser> {
  const executablePath = places.find(existsSync);
  if (executablePath === undefined)
    throw new Error('no Chromium on this machine: apt-get install chromium-headless-shell');
  return await chromium.launch({executablePath, args: options});
}
