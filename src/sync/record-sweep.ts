import {readOne} from '../api/reader.ts';
import {isGone} from '../api/verdict.ts';
import {RecordError} from '../errors.ts';
import {findStream} from '../streams/all.ts';
import {readRows} from '../streams/rows.ts';
import {inTransaction} from '../warehouse/database.ts';
import type {Sweep, SweepCounts} from '../warehouse/sweep.ts';
import {saveCheckpoint} from '../warehouse/sweeps.ts';
import {encodeRowSet} from './encoded-row-set.ts';
import {includeOf} from './query.ts';
import type {SweepDeps} from './sweep-deps.ts';
import {writeBatch} from './write-batch.ts';

/**
 * Asks for one record by its number and brings it into the warehouse.
 * @throws {RecordError} the service says that there is no such record; the row, if there is one, stays as it is
 */
export async function sweepRecord(deps: SweepDeps, sweep: Sweep, signal: AbortSignal): Promise<SweepCounts> {
  const stream = findStream(sweep.stream);
  const path = `${stream.path.replace(/\.xml$/, '')}/${sweep.recordNumber}.xml`;
  const answer = await deps.api.transport.read({path, query: includeOf(stream), signal});
  if (isGone(answer))
    throw new RecordError(
      `${stream.name} ${sweep.recordNumber}: expected the record, got ${answer.status} "${answer.words}"`,
    );
  const {body, contentType} = answer;
  const record = readOne(body, stream, {thing: `GET ${path}`, contentType});
  const rowSet = encodeRowSet(stream, readRows(stream, record, deps));
  return await inTransaction(deps.pool, async (client) => {
    const written = await writeBatch(
      client,
      {stream, sweep, timeZone: deps.timeZone},
      {numbers: [rowSet.number], rowSets: [rowSet], bytes: new Map(), bad: []},
    );
    const counts = {...sweep.counts, ...written, requests: 1, pages: 1, bytes: body.length, records: 1};
    await saveCheckpoint(client, sweep, {nextPage: 1, counts});
    return counts;
  });
}
