import {answerEffects, findRecord, type Route, readChanges} from './records.ts';
import {jobCharges, jobs} from './resource.ts';
import {idOf, type StoredRecord} from './store.ts';
import {assignNumbers, createRecord, type Effects, updateRecord} from './store-effects.ts';

/**
 * Charges can only be created: the specification shows nothing else of them, and `include` is how
 * they are read.
 */
export const jobChargeRoutes: readonly Route[] = [
  {
    method: 'POST',
    path: '/jobs/:job_number/job_charges.xml',
    answer: async (service, request) => {
      const number = request.params.job_number;
      await findRecord(service.database, jobs, {number});
      const {changes, problems} = readChanges(service, request, jobCharges);
      problems.refuse();
      return await answerEffects(service, request, {
        resource: jobCharges,
        work: async (effects) => {
          const job = await findRecord(effects.client, jobs, {number, lock: true});
          const given = Object.fromEntries(
            Object.entries(changes).filter(([, value]) => value !== null),
          );
          const priced = {quantity: '1.0', price_per_unit: '0.0', discount: '0.0', ...given};
          const total = await priceCharge(effects, priced);
          // Items have no endpoint, so that none could be looked up: any item_id is taken.
          const description = changes.description ?? changes.details ?? '';
          const fields = {
            ...priced,
            description,
            total,
            job_id: idOf(job.fields),
            tax_id: job.fields.tax_id ?? null,
          };
          const assigned = await assignNumbers(effects.client, jobCharges);
          const charge = await createRecord(effects, jobCharges, {
            fields: {...fields, ...assigned},
          });
          await sumUp(effects, job, total);
          return charge;
        },
      });
    },
  },
];

interface Priced {
  readonly quantity: string;
  readonly price_per_unit: string;
  readonly discount: string;
}

/** Reckoned by Postgres: money has no place in floating point. */
async function priceCharge(
  {client}: Effects,
  {quantity, price_per_unit, discount}: Priced,
): Promise<string> {
  const text = `SELECT ${plain('$1::numeric * $2::numeric - $3::numeric')} AS total`;
  const {rows} = await client.query<{total: string}>(text, [quantity, price_per_unit, discount]);
  return rows[0]?.total ?? '0.0';
}

/** The job's subtotal, total and balance grow by the charge; its tax is not reckoned anew. */
async function sumUp(effects: Effects, job: StoredRecord, total: string): Promise<void> {
  const text = `SELECT ${plain('$1::numeric + $4::numeric')} AS subtotal, ${plain('$2::numeric + $4::numeric')} AS total,
    ${plain('$3::numeric + $4::numeric')} AS balance_remaining`;
  const sums = ['subtotal', 'total', 'balance_remaining'].map((name) => job.fields[name] ?? '0.0');
  const {rows} = await effects.client.query<Record<string, string>>(text, [...sums, total]);
  await updateRecord(effects, jobs, {record: job, changes: rows[0] ?? {}});
}

/** A decimal as the service writes it: no padding, but one place at least (`325.0`, `28.03`). */
function plain(expression: string): string {
  return `to_char(trim_scale(${expression}), 'FM9999999999999999999999999999999999990.0999999999999999999999')`;
}
