import type {Fields} from '../field.ts';
import type {Table} from '../resource.ts';

/** A made-up record on its way to its table. */
export interface Row {
  readonly table: Table;
  readonly fields: Fields;
  /** Columns beside `fields`, as COPY reads them. */
  readonly beside?: Readonly<Record<string, string>>;
}
