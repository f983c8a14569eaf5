// Servers of made pages share the list of jobs, and know no single job. Each runs in a process of
// its own, and sends its port to the one that started it.

import {createServer, type ServerResponse} from 'node:http';

export const xmlDeclaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
export const emptyList = `${xmlDeclaration}<jobs type="array"/>\n`;

/** A page of the list that is asked for. */
export interface Asked {
  /** From 1. */
  readonly page: number;
  /** Whether only the numbers of its jobs are wanted. */
  readonly isOfKeys: boolean;
}

/** Serves until the process that started this one is gone. */
export function serveJobs(answer: (asked: Asked, response: ServerResponse) => unknown): void {
  const server = createServer((request, response) => {
    const {pathname, searchParams} = new URL(request.url ?? '/', 'http://localhost');
    response.setHeader('content-type', 'application/xml; charset=utf-8');
    if (pathname === '/jobs.xml')
      return void answer(
        {page: Number(searchParams.get('page') ?? '1'), isOfKeys: searchParams.has('only')},
        response,
      );
    response.statusCode = 400;
    response.end('<errors><error>Invalid job.</error></errors>');
  });
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address !== null && typeof address === 'object') process.send?.({port: address.port});
  });
  process.on('disconnect', () => process.exit(0));
}
