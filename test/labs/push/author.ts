// Programs of an author that write the warehouse with plain SQL, and remember their commits.

import type pg from 'pg';
import type {Random} from '../../../src/service/vocabulary.ts';
import type {Intent, Value, Values} from './history.ts';

/** A row that an author writes to. */
interface Thing {
  readonly table: string;
  readonly rowId: string;
  /** Stands in the content of a created row, and says whose effect it is. */
  readonly tag: number;
  /** Null: the row was at the service before. */
  readonly createdBy: string | null;
  readonly parent: Thing | null;
  hasChildren: boolean;
  isDeleted: boolean;
  assigned: readonly string[];
  /** The content at its creation. */
  readonly content: Readonly<Record<string, string>>;
}

/** One customer's rows from before. */
export interface Estate {
  readonly rows: readonly {readonly table: string; readonly rowId: string}[];
  readonly employeeIds: readonly string[];
}

type Act = (client: pg.ClientBase) => Promise<void>;

const textField: Readonly<Record<string, string>> = {
  customers: 'name',
  jobs: 'name',
  tasks: 'name',
  customer_notes: 'note',
  job_notes: 'note',
  job_charges: 'details',
};
const parents: Readonly<Record<string, string>> = {
  jobs: 'customers',
  customer_notes: 'customers',
  job_notes: 'jobs',
  time_entries: 'jobs',
  job_charges: 'jobs',
};
const deletable = new Set([
  'customers',
  'customer_notes',
  'jobs',
  'job_notes',
  'time_entries',
  'tasks',
]);

let lastTag = 0;

/** Writes rows of one customer, more or less, step by step. */
export class Author {
  readonly intents: Intent[] = [];
  /** The warehouse's words for statements that it refused. */
  readonly refusals: string[] = [];
  readonly #pool: pg.Pool;
  readonly #random: Random;
  readonly #estate: Estate;
  readonly #things: Thing[];
  #pending: Intent[] = [];

  constructor(pool: pg.Pool, random: Random, estate: Estate) {
    this.#pool = pool;
    this.#random = random;
    this.#estate = estate;
    this.#things = estate.rows.map((row) => ({
      ...row,
      tag: 0,
      createdBy: null,
      parent: null,
      // Children from before are not this author's to delete.
      hasChildren: row.table === 'customers' || row.table === 'jobs',
      isDeleted: false,
      assigned: [],
      content: {},
    }));
  }

  /** One transaction of one to three statements. */
  async act(): Promise<void> {
    const client = await this.#pool.connect();
    const kept = this.#things.map(({hasChildren, isDeleted, assigned}) => ({
      hasChildren,
      isDeleted,
      assigned,
    }));
    try {
      await client.query('BEGIN');
      for (let count = this.#random.integer(1, 3); count > 0; count--) await this.#choose()(client);
      await client.query('COMMIT');
      this.intents.push(...this.#pending);
    } catch (error) {
      await client.query('ROLLBACK');
      this.refusals.push(String(error));
      this.#things.splice(kept.length);
      for (const [at, thing] of this.#things.entries()) Object.assign(thing, kept[at]);
    } finally {
      this.#pending = [];
      client.release();
    }
  }

  #choose(): Act {
    const kind = this.#random.weighted([10, 12, 14, 8, 6, 6, 26, 9, 7]);
    const creates = [
      'customers',
      'jobs',
      'job_notes',
      'time_entries',
      'job_charges',
      'tasks',
    ] as const;
    const table = creates[kind];
    if (table !== undefined)
      return (client) =>
        this.#create(
          client,
          table === 'job_notes' && this.#random.isTrue(0.3) ? 'customer_notes' : table,
        );
    if (kind === 6) return (client) => this.#update(client);
    return kind === 7 ? (client) => this.#assign(client) : (client) => this.#delete(client);
  }

  async #create(client: pg.ClientBase, table: string): Promise<void> {
    const parent =
      parents[table] === undefined ? null : this.#pick(({table: of}) => of === parents[table]);
    if (parents[table] !== undefined && parent === null) return;
    // Sometimes the same content again: two records are wanted, and two must be there.
    const twin = this.#random.isTrue(0.12)
      ? this.#pick((thing) => thing.table === table && thing.parent === parent && thing.tag > 0)
      : null;
    const tag = twin?.tag ?? ++lastTag;
    const fields = twin?.content ?? this.#contentOf(table, tag);
    const names = Object.keys(fields);
    const columns = parent === null ? names : [...names, 'parent_row_id'];
    const values =
      parent === null ? Object.values(fields) : [...Object.values(fields), parent.rowId];
    const [row] = await this.#write(
      client,
      `INSERT INTO warehouse.${table} (${columns.join(', ')})
        VALUES (${columns.map((_, at) => `$${at + 1}`).join(', ')}) RETURNING row_id`,
      values,
    );
    const rowId = String(row?.row_id);
    const changeId = await readLastChange(client);
    if (parent !== null) parent.hasChildren = true;
    this.#things.push({
      table,
      rowId,
      tag,
      createdBy: changeId,
      parent,
      hasChildren: false,
      isDeleted: false,
      assigned: [],
      content: fields,
    });
    this.#note({changeId, operation: 'create', table, rowId, key: `#${tag}`, fields, saw: {}});
  }

  #contentOf(table: string, tag: number): Record<string, string> {
    const text = textField[table];
    const content: Record<string, string> =
      text === undefined ? {} : {[text]: this.#dress(`${this.#word()} #${tag}`)};
    if (table === 'jobs' && this.#random.isTrue(0.5)) content.scheduled_on = this.#moment();
    if (table === 'tasks') content.scheduled_at = '2027-05-03T14:00:00+00:00';
    if (table === 'time_entries')
      Object.assign(content, {
        employee_id: this.#estate.employeeIds[0],
        started_on: '2027-05-03T15:00:00+00:00',
        number_of_hours: `1.${String(tag).padStart(6, '0')}`,
      });
    if (table === 'job_charges') Object.assign(content, {quantity: '2', price_per_unit: '10.50'});
    return content;
  }

  async #update(client: pg.ClientBase): Promise<void> {
    const thing = this.#pick(({table}) => table !== 'job_charges');
    if (thing === null) return;
    const {table, rowId, tag} = thing;
    const field = this.#random.pick(fieldsOf(table));
    const mark = field === textField[table] && tag > 0 ? ` #${tag}` : '';
    const value =
      field.endsWith('_on') || field.endsWith('_at')
        ? this.#moment()
        : this.#dress(`${this.#word()} ${this.#random.integer(100, 999)}${mark}`);
    const [row] = await this.#write(
      client,
      // Postgres has RETURNING old since version 18.
      `WITH seen AS (SELECT row_id, to_jsonb(${field}) #>> '{}' AS saw FROM warehouse.${table}
                      WHERE row_id = $2 AND _deleted_at IS NULL FOR UPDATE)
       UPDATE warehouse.${table} AS edited SET ${field} = $1 FROM seen
        WHERE edited.row_id = seen.row_id RETURNING saw`,
      [value, rowId],
    );
    if (row === undefined) return;
    const changeId = await readLastChange(client);
    if (changeId !== '')
      this.#note({
        changeId,
        operation: 'update',
        table,
        rowId,
        key: null,
        fields: {[field]: value},
        saw: {[field]: row.saw as Value},
      });
  }

  async #assign(client: pg.ClientBase): Promise<void> {
    const job = this.#pick(({table}) => table === 'jobs');
    const {employeeIds} = this.#estate;
    const employee = employeeIds[this.#random.integer(0, employeeIds.length - 1)];
    if (job === null || employee === undefined) return;
    const {rowId, assigned: before} = job;
    const isAssigned = before.includes(employee);
    const sql = isAssigned
      ? `DELETE FROM warehouse.job_employees WHERE employee_id = $2 AND _deleted_at IS NULL
            AND (parent_row_id = $1 OR job_number = (SELECT job_number FROM warehouse.jobs
              WHERE row_id = $1))`
      : `INSERT INTO warehouse.job_employees (job_number, parent_row_id, employee_id)
         SELECT job_number, CASE WHEN job_number IS NULL THEN row_id END, $2 FROM warehouse.jobs
         WHERE row_id = $1 AND _deleted_at IS NULL`;
    await this.#write(client, sql, [rowId, employee]);
    job.assigned = isAssigned ? before.filter((id) => id !== employee) : [...before, employee];
    const changeId = await readLastChange(client);
    if (changeId !== '')
      this.#note({
        changeId,
        operation: 'update',
        table: 'jobs',
        rowId,
        key: null,
        fields: {employee_ids: job.assigned},
        saw: {employee_ids: before},
      });
  }

  async #delete(client: pg.ClientBase): Promise<void> {
    const thing = this.#pick(({table, hasChildren}) => deletable.has(table) && !hasChildren);
    if (thing === null) return;
    const {table, rowId, createdBy} = thing;
    await this.#write(client, `DELETE FROM warehouse.${table} WHERE row_id = $1`, [rowId]);
    thing.isDeleted = true;
    // A row that the service never knew goes with its create, and there is no change.
    const changeId = (await readLastChange(client)) || createdBy;
    if (changeId !== null)
      this.#note({changeId, operation: 'delete', table, rowId, key: null, fields: {}, saw: {}});
  }

  async #write(
    client: pg.ClientBase,
    sql: string,
    values: readonly unknown[],
  ): Promise<Record<string, unknown>[]> {
    await client.query(`SELECT set_config('fieldmirror.last_change', '', false)`);
    return (await client.query(sql, [...values])).rows;
  }

  #note(intent: Intent): void {
    this.#pending.push(intent);
  }

  #pick(isWanted: (thing: Thing) => boolean): Thing | null {
    const [first, ...others] = this.#things.filter((thing) => !thing.isDeleted && isWanted(thing));
    return first === undefined ? null : this.#random.pick([first, ...others]);
  }

  /**
   * A text with what services like to tidy: outer blanks, no-break spaces, letters in another
   * Unicode form.
   */
  #dress(text: string): string {
    const dress = this.#random.pick([
      (plain: string) => plain,
      (plain: string) => plain,
      (plain: string) => ` ${plain}  `,
      (plain: string) => `${plain}\u00a0`,
      (plain: string) => `\u00a0${plain.replace(' ', '\u00a0')}`,
      (plain: string) => plain.normalize('NFD'),
      (plain: string) => `\t${plain.normalize('NFC')} `,
    ]);
    return dress(text);
  }

  #word(): string {
    return this.#random.pick([
      'Filter & belt',
      'Leak  upstairs',
      'Tom’s “boiler”',
      'Gate code <1234>',
      'Call back',
      'Überprüfung',
      'Café “Zoë”',
      'O\ufb03ce \uff21',
    ]);
  }

  #moment(): string {
    const day = this.#random.integer(10, 28);
    const hour = this.#random.integer(10, 19);
    const minute = this.#random.integer(10, 59);
    return `2027-06-${day}T${hour}:${minute}:00+00:00`;
  }
}

function fieldsOf(table: string): [string, ...string[]] {
  if (table === 'customers') return ['name', 'phone_number', 'fax', 'email_address'];
  if (table === 'jobs') return ['name', 'scheduled_on'];
  if (table === 'tasks') return ['name', 'scheduled_at'];
  return table === 'time_entries' ? ['started_on'] : ['note'];
}

async function readLastChange(client: pg.ClientBase): Promise<string> {
  const {rows} = await client.query<{id: string | null}>('SELECT sync.last_change() AS id');
  return rows[0]?.id ?? '';
}

/** Content as the checker knows it: the tag in a text, or in the decimals of the hours. */
export function keyOf(fields: Values): string | null {
  const {number_of_hours: hours} = fields;
  if (typeof hours === 'string') return `#${Number(Number(hours).toFixed(6).slice(2))}`;
  const tag = [fields.name, fields.note, fields.details]
    .map((text) => /#(\d+)\s*$/.exec(String(text ?? ''))?.[1])
    .find((found) => found !== undefined);
  return tag === undefined ? null : `#${tag}`;
}
