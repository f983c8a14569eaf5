import type {TimeShape} from '../api/times.ts';
import type {Resource} from '../api/writable-fields.ts';
import type {MirrorTable} from '../warehouse/mirror-table.ts';
import type {StreamName} from './stream.ts';

export type Operation = 'create' | 'update' | 'delete';

/**
 * How one warehouse table is written back: which fields is said by the table itself, nothing more than what the
 * specification has, so that what the service cannot do is refused when it is asked for. The operations are known to the
 * table's triggers, too: migrations, sync.capture.
 */
export interface Writes {
  readonly table: MirrorTable;
  /** Root element of its documents. */
  readonly resource: Resource;
  /** The stream whose record is read to learn what became of a write: its own, or that of its parent. */
  readonly stream: StreamName;
  readonly operations: readonly Operation[];
  /** The column by which paths know a record. */
  readonly key: string;
  /** What a new record hangs on: `/customers/7/jobs.xml`. */
  readonly parent: {readonly table: 'customers' | 'jobs'; readonly numberColumn: string} | null;
  /** The list that new ones are posted to, relative to the parent or to the account: `notes`. */
  readonly list: string;
  /** Whether paths to one record go by the parent, too: `/jobs/7/notes/12.xml`. */
  readonly isNested: boolean;
  /** How its documents write a time; null where they have none. */
  readonly timeShape: TimeShape | null;
}
