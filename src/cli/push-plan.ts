// The output of `push --dry-run`: every request that a push would send some day, to the byte.

import type {Account} from '../accounts/accounts.ts';
import type {Change} from '../changes/change.ts';
import {listUnsent} from '../changes/change-log.ts';
import {type PlannedRequest, planRequests, type Unplannable} from '../changes/change-request.ts';
import {nameChange, nameState} from '../changes/change-words.ts';
import {formatNumber} from '../core/format.ts';
import {tell} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';
import {drawPlan} from './draw-change.ts';
import {print} from './report.ts';

/** How many changes are read in one go: there may be a hundred thousand. */
const batchSize = 500;

type Plan = Pick<Change, 'state' | 'waitsFor'> & {readonly change: string} & (
    | PlannedRequest
    | Unplannable
  );

/**
 * Prints the requests of all pending and held changes, in the order in which the changes were made.
 */
export async function printPlan(
  db: Queryable,
  accounts: readonly Account[],
  isJson: boolean,
): Promise<void> {
  const plans: Plan[] = [];
  let count = 0;
  for await (const batch of readPlans(db, accounts)) {
    count += batch.length;
    if (isJson) plans.push(...batch);
    else tell(batch.map(drawOne).join(''));
  }
  const requests = count === 1 ? '1 request' : `${formatNumber(count)} requests`;
  const text = count === 0 ? 'nothing waits to be sent' : `${requests}; nothing was sent`;
  print(isJson, {json: {requests: plans}, text});
}

async function* readPlans(db: Queryable, accounts: readonly Account[]): AsyncGenerator<Plan[]> {
  const accountIds = accounts.map(({accountId}) => accountId);
  let after = '0';
  for (;;) {
    const changes = await listUnsent(db, {accountIds, after, limit: batchSize});
    const last = changes.at(-1);
    if (last === undefined) return;
    const requests = await planRequests(db, changes, accounts);
    yield changes.flatMap((change, at) => {
      const request = requests[at];
      const {state, waitsFor} = change;
      return request === undefined
        ? []
        : [{change: nameChange(change), state, waitsFor, ...request}];
    });
    after = last.changeId;
  }
}

function drawOne(plan: Plan): string {
  const waits = plan.waitsFor === null ? '' : `, waits for change ${plan.waitsFor}`;
  const head = `change ${plan.changeId}: ${plan.change}, ${nameState(plan.state)}${waits}`;
  return `${[head, ...drawPlan(plan).map((line) => `  ${line}`)].join('\n')}\n\n`;
}
