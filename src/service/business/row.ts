import type {Fields} from '../resources/field.ts';
import type {Table} from '../resources/resource.ts';

/** A made-up record on its way to its table. */
export interface Row {
  readonly table: Table;
  readonly fields: Fields;
  /** Columns beside `fields`, as COPY reads them. */
  readonly beside?: Readonly<Record<string, string>>;
}
