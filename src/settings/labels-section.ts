import {z} from 'zod';
import {deleteLabel, listLabels, writeLabel} from '../accounts/settings.ts';
import type {Section} from './section.ts';
import {listChanged} from './setting-entries.ts';
import {accountName, label, recordNumber} from './setting-values.ts';
import {toTree} from './settings-tree.ts';

const byNumber = z.record(recordNumber, label.nullable()).exactOptional();
const kinds = z.strictObject({
  customer_type: byNumber,
  customer_source: byNumber,
  job_charge_type: byNumber,
  time_entry_type: byNumber,
  task_type: byNumber,
});

export const labelsSection: Section = {
  name: 'labels',
  about: [
    'Names for what the service sends as a number alone, by account and kind. A label of null goes.',
  ],
  schema: z.record(accountName, kinds),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listLabels(db)).map(({account, kind, id, label: value}) => ({
        path: [account, kind, id],
        value,
      })),
    ),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<string>(change, 3)) {
      const [account = '', kind = '', id = ''] = path;
      if (after === null) await deleteLabel(db, {account, kind, id});
      else await writeLabel(db, {account, kind, id, label: after});
    }
  },
};
