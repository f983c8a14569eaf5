import type {Fields} from './field.ts';
import {writeMoney} from './vocabulary.ts';

/** The last job completed and the sum owed, for each customer. One entry a customer, no more. */
export class Ledger {
  readonly #last: (
    | {readonly number: string; readonly at: string; readonly name: string}
    | undefined
  )[] = [];
  readonly #owedCents: (number | undefined)[] = [];

  complete(
    customer: number,
    job: {readonly number: string; readonly at: string; readonly name: string},
  ): void {
    const last = this.#last[customer];
    if (last === undefined || last.at <= job.at) this.#last[customer] = job;
  }

  owe(customer: number, cents: number): void {
    this.#owedCents[customer] = (this.#owedCents[customer] ?? 0) + cents;
  }

  summaryOf(customer: number): Fields {
    const last = this.#last[customer];
    const balance = writeMoney(this.#owedCents[customer] ?? 0);
    return {
      balance,
      total_balance: balance,
      last_job_completed_number: last?.number ?? null,
      last_job_completed_at: last?.at ?? null,
      last_job_completed_name: last?.name ?? null,
    };
  }
}
