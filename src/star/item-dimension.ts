import {liveRow, type Member} from './member.ts';

/** The key of an item: the service gives no catalogue, so an item is known by its lines alone. */
export const itemKey = `charge.account_id || ':' || coalesce(charge.item_id::text, 'none')`;

export const item: Member = {
  name: 'dim_item',
  comment: 'One row for each item that was ever charged: the service gives no catalogue.',
  columns: [
    ['item_key', 'item.item_key', 'Key of the item: its account and its number at the service.'],
    ['account_key', 'item.account_id', 'The account: dim_account.'],
    ['item_id', 'item.item_id', 'Internal key at the service; null for lines without an item.'],
    [
      'name',
      `CASE WHEN item.item_id IS NULL THEN 'No item' ELSE item.description END`,
      'What the latest line with the item calls it.',
    ],
    [
      'category',
      `CASE WHEN item.item_id IS NOT NULL AND strpos(item.description, ':') > 0 THEN btrim(split_part(item.description, ':', 1)) END`,
      'What stands before the colon of its name; null where it has none.',
    ],
  ],
  // The latest line is looked up by its key: joined, Postgres expects one item of a warehouse, and
  // reckons what is asked of items once for each.
  from: `FROM (
      SELECT latest.account_id || ':' || coalesce(latest.item_id::text, 'none') AS item_key, latest.account_id, latest.item_id,
             (SELECT charge.description FROM {job_charges} AS charge WHERE charge.account_id = latest.account_id AND charge.id = latest.id) AS description
        FROM (SELECT line.account_id, line.item_id, max(line.id) AS id FROM {job_charges} AS line
               WHERE ${liveRow('line', 'id')} GROUP BY line.account_id, line.item_id) AS latest
    ) AS item`,
};
