// Pages to measure with: answers of the reference service, kept as files, so that rendering is not
// measured.

import {existsSync} from 'node:fs';
import {mkdir, readdir, rename, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createClient} from '../../src/api/client.ts';
import {createTransport} from '../../src/api/transport.ts';
import {Secret} from '../../src/core/secret.ts';
import {jobs} from '../../src/streams/jobs.ts';
import {fetchPages} from '../../src/sweeps/pages.ts';
import {startBusiness} from './business.ts';

/**
 * @param jobCount - the number of jobs, with everything embedded that the stream asks for
 * @param databaseUrl - an empty database for the service that renders them
 * @returns the folder that holds them: 1.xml, 2.xml, …
 */
export async function preparePages(jobCount: number, databaseUrl: string): Promise<string> {
  const folder = join(tmpdir(), 'fieldmirror-bench', `${jobCount}-jobs`);
  if (existsSync(folder)) return folder;
  const service = await startBusiness({databaseUrl, jobs: jobCount, compress: false});
  const transport = createTransport({baseUrl: service.url, token: new Secret(service.token)});
  const api = createClient(transport);
  const aside = `${folder}-${process.pid}`;
  await mkdir(aside, {recursive: true});
  try {
    const asked = {path: jobs.path, query: {include: jobs.include.join(',')}, fromPage: 1};
    for await (const {page, body} of fetchPages(api, asked, new AbortController().signal)) {
      if (!body.includes('<job>')) break;
      await writeFile(join(aside, `${page}.xml`), body);
    }
  } finally {
    await transport.close();
    await service.close();
  }
  await rm(folder, {recursive: true, force: true});
  await rename(aside, folder);
  return folder;
}

/** The paths of the pages, in order. */
export async function listPages(folder: string): Promise<string[]> {
  const names = await readdir(folder);
  return names
    .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
    .map((name) => join(folder, name));
}
