import type {StarMember} from '../star/member.ts';
import type {WarehouseTable} from '../streams/table.ts';

/** What a migration makes beside the tables of `migrations/*.sql`, from definitions in the code. */
export interface Definitions {
  /** Every warehouse table. */
  readonly tables: readonly WarehouseTable[];
  /** Every member of the star, each after those that it stands on. */
  readonly star: readonly StarMember[];
}
