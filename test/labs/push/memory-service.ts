// The service of the specification in memory, in the observed dialect, for thousands of runs. It
// reads and writes documents with the reference service's own code; of business it knows only the
// traps for a client.

import {AccountTime} from '../../../src/service/account-time.ts';
import {
  customerResource,
  jobCharges,
  jobResource,
  notes,
  type ServiceResource,
  taskResource,
  timeEntries,
} from '../../../src/service/resource.ts';
import {Problems, toChanges} from '../../../src/service/store.ts';
import type {RequestValue} from '../../../src/service/xml-read.ts';
import {readRequest} from '../../../src/service/xml-read.ts';
import {
  Dialect,
  makeUnknownRefusal,
  ServiceRefusal,
  writeErrors,
  XmlWriter,
} from '../../../src/service/xml-write.ts';
import type {Answer, Asked} from './backend.ts';
import {MemoryStore, type Stored, type StoreView} from './memory-store.ts';

const required: Readonly<Record<string, readonly string[]>> = {
  customers: ['name'],
  tasks: ['name'],
  notes: ['note'],
  time_entries: ['employee_id', 'started_on', 'number_of_hours'],
};
const tops: Readonly<Record<string, ServiceResource>> = {
  customers: customerResource,
  jobs: jobResource,
  tasks: taskResource,
};
const nested: Readonly<Record<string, ServiceResource>> = {
  jobs: jobResource,
  notes,
  time_entries: timeEntries,
  job_charges: jobCharges,
};

/** The clock of a service, as its records and its answers show it. */
export interface ServiceClock {
  /** Seconds that the moments of its records are ahead of this machine's clock. */
  readonly records: number;
  /**
   * Seconds that the `Date` of its answers is ahead; null where an answer has none. Asked for each.
   */
  readonly date: () => number | null;
}

export const rightClock: ServiceClock = {records: 0, date: () => 0};

/** The meaning of a path: a list or one record, under an owner or not. */
interface Place {
  readonly resource: ServiceResource;
  readonly owner: Stored | null;
  readonly number: string | null;
}

export class MemoryService {
  readonly store: MemoryStore;
  /** May be replaced: from then on the old one is refused. */
  token: string;
  /** The value that the service stores, without a word, for the one it was sent. */
  misread: (field: string, value: string) => string = (_, value) => value;
  /**
   * How many seconds ago a copy was as it shows itself to a reading; asked for each. Writes are
   * never behind.
   */
  lag: () => number = () => 0;
  readonly #time: AccountTime;
  readonly #writer: XmlWriter;
  readonly #pageSize: number;
  readonly #showsEmbed: boolean;
  readonly #clock: ServiceClock;

  /**
   * @param options.pageSize - a small one makes it likely that a wanted record is not on the first
   *   page
   * @param options.showsEmbed - false where only lists embed related data
   */
  constructor(options: {
    readonly token: string;
    readonly timeZone: string;
    readonly pageSize: number;
    readonly showsEmbed: boolean;
    readonly clock?: ServiceClock;
  }) {
    const {token, timeZone, clock = rightClock} = options;
    this.token = token;
    this.#clock = clock;
    this.#time = new AccountTime(timeZone, () => Date.now() + clock.records * 1_000);
    this.#writer = new XmlWriter(new Dialect('observed', this.#time));
    this.#pageSize = options.pageSize;
    this.#showsEmbed = options.showsEmbed;
    this.store = new MemoryStore(() => this.#time.now());
  }

  /** Answers a request, with all its effects. */
  answer(asked: Asked): Answer {
    const answer = this.#answer(asked);
    const seconds = this.#clock.date();
    if (seconds === null) return answer;
    const date = new Date(Date.now() + seconds * 1_000).toUTCString();
    return {...answer, headers: {...answer.headers, date}};
  }

  #answer(asked: Asked): Answer {
    try {
      const secret = Buffer.from(`${this.token}:${this.token}`).toString('base64');
      if (asked.authorization !== `Basic ${secret}`)
        throw new ServiceRefusal(401, 'Invalid Username, Account or password.');
      const url = new URL(asked.path, 'http://service');
      if (asked.method !== 'GET') return this.#write(this.#find(url.pathname, this.store), asked);
      const shown = this.store.asOf(this.lag());
      return this.#read(shown, this.#find(url.pathname, shown), url.searchParams);
    } catch (error) {
      if (!(error instanceof ServiceRefusal)) throw error;
      return toAnswer(error.status, Buffer.from(writeErrors(error.texts)));
    }
  }

  #find(path: string, shown: StoreView): Place {
    const parts = path
      .replace(/\.xml$/, '')
      .split('/')
      .slice(1);
    const [top = '', number = null, list = null, below = null] = parts;
    if (list !== null) {
      const parent = tops[top];
      const resource = nested[list];
      if (parent === undefined || resource === undefined || number === null)
        throw new ServiceRefusal(404, 'There is no such address.');
      const owner = shown.find(parent, number);
      if (owner === null) throw makeUnknownRefusal(parent.element);
      return {resource, owner, number: below};
    }
    const resource = top === 'employees' ? this.store.employees : tops[top];
    if (resource === undefined) throw new ServiceRefusal(404, 'There is no such address.');
    return {resource, owner: null, number};
  }

  #read(shown: StoreView, {resource, owner, number}: Place, query: URLSearchParams): Answer {
    const only = query.get('only');
    const view = {
      only: only === null ? null : new Set(only.split(',')),
      include: new Set((query.get('include') ?? '').split(',')),
    };
    if (number !== null) {
      const record = this.#findOne({resource, owner, number}, shown);
      const include = this.#showsEmbed ? view.include : new Set<string>();
      return toAnswer(
        200,
        this.#writer.writeRecord(resource, shown.embed(record, include), view.only),
      );
    }
    const name = query.get('name');
    const all = shown
      .list(resource, owner)
      .filter(({fields}) => name === null || fields.name === name);
    const page = Math.max(1, Number(query.get('page') ?? 1));
    const isPaged =
      resource === customerResource || resource === jobResource || resource === taskResource;
    const listed = isPaged ? all.slice((page - 1) * this.#pageSize, page * this.#pageSize) : all;
    const nodes = listed.map((record) => shown.embed(record, view.include));
    return toAnswer(200, this.#writer.writeList(resource, nodes, view.only));
  }

  #write(place: Place, {method, path, body, isOurs = true}: Asked): Answer {
    const {resource, owner, number} = place;
    const by = {method, path, isOurs};
    if (method === 'DELETE') {
      const record = this.#findOne(place);
      this.store.delete(record, by);
      return toAnswer(
        200,
        this.#writer.writeRecord(resource, this.store.embed(record, new Set()), null),
      );
    }
    const given = readRequest(body, resource);
    const problems = new Problems();
    const taken = toChanges(resource, given, {time: this.#time, problems});
    const changes = Object.fromEntries(
      Object.entries(taken).map(([name, value]) => [
        name,
        value === null ? null : this.misread(name, value),
      ]),
    );
    const employeeIds = this.#readIds(resource, given.get('employee_ids'), problems);
    const held = method === 'PUT' ? this.#findOne(place) : null;
    problems.requirePresence({...held?.fields, ...changes}, ...(required[resource.table] ?? []));
    problems.refuse();
    if (held !== null) {
      this.store.update(held, {changes, employeeIds}, by);
      return toAnswer(
        200,
        this.#writer.writeRecord(resource, this.store.embed(held, new Set()), null),
      );
    }
    if (number !== null) throw new ServiceRefusal(405, 'POST is not allowed here.');
    const made = this.store.create(resource, {changes, employeeIds: employeeIds ?? [], owner}, by);
    const answer = toAnswer(
      200,
      this.#writer.writeRecord(resource, this.store.embed(made, new Set()), null),
    );
    // As with the reference service, only a created charge gets no Location.
    if (resource === jobCharges) return answer;
    const base = resource === jobResource ? '/jobs' : path.replace(/\.xml$/, '');
    return {
      ...answer,
      headers: {...answer.headers, location: `${base}/${made.fields[resource.key]}.xml`},
    };
  }

  #findOne({resource, owner, number}: Place, shown: StoreView = this.store): Stored {
    const record = shown.find(resource, number ?? '', owner);
    if (record === null) throw makeUnknownRefusal(resource.element);
    return record;
  }

  #readIds(
    resource: ServiceResource,
    given: RequestValue | undefined,
    problems: Problems,
  ): readonly string[] | null {
    if (resource !== jobResource || given === undefined) return null;
    const ids = given === null || given === '' ? [] : [...new Set(given)];
    for (const id of ids)
      if (!this.store.isEmployee(id)) problems.add('employee', `${id} must exist`);
    return ids;
  }
}

function toAnswer(status: number, body: Buffer): Answer {
  return {status, headers: {'content-type': 'application/xml; charset=utf-8'}, body};
}
