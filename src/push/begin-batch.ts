// Requests that are about to be sent beside each other are noted in one transaction.

import type pg from 'pg';
import {type Begun, beginSending, onItsWay, type Sending} from '../changes/move-changes.ts';
import {inTransaction} from '../postgres/database.ts';
import {violatedConstraint} from '../postgres/database-errors.ts';
import {Batcher} from './batcher.ts';
import {atStep, type ChangeContext} from './change-context.ts';

/**
 * The result of noting a request: it may be sent; a twin of it is on its way; the change is no
 * longer ours.
 */
export type Beginning = Begun | 'twin' | 'lost';

export type Beginnings = Batcher<
  {readonly run: ChangeContext; readonly sending: Sending},
  Beginning
>;

export function beginBatch(pool: pg.Pool): Beginnings {
  return new Batcher(async (items) => {
    try {
      return await inTransaction(pool, async (client) => {
        const begun = await beginSending(
          client,
          items.map(({sending}) => sending),
        );
        for (const {run} of items) await atStep(run, 'sending-written');
        return begun.map((one): Beginning => one ?? 'lost');
      });
    } catch (error) {
      if (items.length === 1 && violatedConstraint(error) === onItsWay) return ['twin'];
      throw error;
    }
  });
}
