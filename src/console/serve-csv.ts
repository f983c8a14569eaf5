import {PassThrough} from 'node:stream';
import type {FastifyInstance} from 'fastify';
import {beginReading, prepareQuestion, sqlOf, wordOf} from '../star/answer.ts';
import {writeCsv} from '../star/answer-csv.ts';
import {chooseOne} from './choose-account.ts';
import type {ConsoleDeps} from './console-deps.ts';
import {findQuestion} from './question-page.ts';
import type {Fields} from './read-fields.ts';
import {chooseAccounts, readSeen} from './serve-page.ts';
import {viewerOf} from './viewers.ts';

/**
 * Serves an answer as CSV, row by row as Postgres makes it; a spreadsheet opens it without
 * formulas.
 */
export function addCsv(app: FastifyInstance, deps: ConsoleDeps): void {
  app.get('/business/csv/:question', async (request, reply) => {
    const viewer = viewerOf(request);
    const query = request.query as Fields;
    const question = findQuestion((request.params as {readonly question: string}).question);
    const {accountId} = chooseOne(chooseAccounts(await readSeen(viewer, deps), query.account));
    const client = await deps.pools.reads.connect();
    const out = new PassThrough();
    try {
      await beginReading(client);
      const asked = await prepareQuestion(client, question, {
        ...{accountKey: accountId, asOf: query['as-of'], isMasked: viewer.masks},
      });
      void writeCsv(client, sqlOf(asked), {out, isForSpreadsheet: true})
        .then(
          () => out.end(),
          (error: Error) => out.destroy(error),
        )
        .finally(() => end(client));
    } catch (error) {
      await end(client);
      throw error;
    }
    return await reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="${wordOf(question)}.csv"`)
      .send(out);
  });
}

/** A connection whose answer was cut off is of no use to others. */
async function end(client: {
  query: (text: string) => Promise<unknown>;
  release: (error?: Error) => void;
}) {
  await client.query('ROLLBACK').then(
    () => client.release(),
    (error: Error) => client.release(error),
  );
}
