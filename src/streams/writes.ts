import type {TimeShape} from '../api/time-shapes.ts';
import type {Resource} from '../api/xml-encode.ts';
import type {ChangeOperation, MirrorTable} from './mirror-table.ts';
import type {StreamName} from './stream.ts';

/**
 * How one warehouse table is written back. The table itself names the fields. Nothing here goes
 * beyond the specification, so that a change that the service cannot make is refused when it is
 * asked for. all.ts lists them.
 */
export interface Writes {
  readonly table: MirrorTable;
  /** Root element of its documents. */
  readonly resource: Resource;
  /**
   * The stream whose record is read to learn the fate of a write: its own, or that of its parent.
   */
  readonly stream: StreamName;
  readonly operations: readonly ChangeOperation[];
  /** The next step of an author who asks for another operation. */
  readonly hint?: string;
  /** The column by which paths know a record. */
  readonly key: string;
  /** The parent of a new record: `/customers/7/jobs.xml`. */
  readonly parent: {readonly table: 'customers' | 'jobs'; readonly numberColumn: string} | null;
  /** The list that new ones are posted to, relative to the parent or to the account: `notes`. */
  readonly list: string;
  /** Whether paths to one record go by the parent, too: `/jobs/7/notes/12.xml`. */
  readonly isNested: boolean;
  /**
   * Fields that the specification uses together: where one of them is sent, all that are wanted
   * are.
   */
  readonly together?: readonly string[];
  /** How its documents write a time; null where they have none. */
  readonly timeShape: TimeShape | null;
}
