// A list that moves while it is read: before every answer it may insert, delete, edit, hide and
// bring back, by a random source that a seed determines. It remembers every event, so that a
// checker can look up what was true at any tick.

import {createHash, type Hash} from 'node:crypto';
import {Random} from '../../src/service/vocabulary.ts';
import type {Note, RecordHistory, Version} from './adversary-history.ts';
import type {Rates, Settings} from './adversary-settings.ts';

/** A record as it stands at this moment. */
export interface Standing {
  readonly number: number;
  readonly version: Version;
}

interface Life {
  readonly from: number;
  to: number | null;
}

interface Kept {
  readonly number: number;
  readonly lives: Life[];
  readonly hidings: Life[];
  readonly versions: Version[];
  version: Version;
  isAlive: boolean;
  isHidden: boolean;
}

/** A clock of whole seconds: this many ticks show the same time of change. */
const ticksPerSecond = 8;

export class Adversary {
  readonly settings: Settings;
  /** No record changes while true. */
  isQuiet = false;
  /** Shows and knows nothing while true, as to an employee without any rights. */
  isBlank = false;
  readonly #random: Random;
  readonly #records = new Map<number, Kept>();
  readonly #events: Hash = createHash('sha256');
  /** Numbers given out whose records are not there yet. */
  #late: number[] = [];
  #tick = 0;
  #lastNumber = 0;
  #lastNoteId = 0;

  constructor(settings: Settings) {
    this.settings = settings;
    this.#random = new Random(String(settings.seed), 'adversary', 0);
    for (let at = 0; at < settings.records; at++) this.insert();
  }

  get tick(): number {
    return this.#tick;
  }

  get aliveCount(): number {
    return this.#alive().length;
  }

  /** The true histories so far. */
  histories(): RecordHistory[] {
    return [...this.#records.values()].map(({number, lives, hidings, versions}) => ({
      number: String(number),
      lives,
      hidings,
      versions,
    }));
  }

  /** The same for two adversaries with the same events in the same order. */
  fingerprint(): string {
    return this.#events.copy().digest('hex');
  }

  /** One page of the list; 1-based, empty past the end. */
  page(page: number): Standing[] {
    this.#note(`page ${page}`);
    if (this.isBlank) return [];
    const {pageSize} = this.settings;
    const listed = this.#alive().filter((record) => !record.isHidden);
    return this.#sort(listed).slice((page - 1) * pageSize, page * pageSize);
  }

  /** One record by its number, null when there is none. */
  show(number: number): Standing | null {
    this.#note(`show ${number}`);
    const record = this.#records.get(number);
    return record?.isAlive === true && !this.isBlank ? record : null;
  }

  /** Makes changes at these rates; called before every answer. */
  mutate(rates: Rates = this.settings.rates): void {
    if (this.isQuiet) return;
    const random = this.#random;
    if (random.isTrue(rates.insert)) this.insert();
    if (random.isTrue(rates.late)) this.#late.push(this.#nextNumber());
    if (random.isTrue(0.2)) this.#arrive();
    if (random.isTrue(rates.delete)) this.#delete(this.#pick(this.#alive()));
    if (random.isTrue(rates.update)) this.#edit(this.#pick(this.#alive()));
    if (random.isTrue(rates.spite)) this.#spite();
    if (random.isTrue(rates.undo)) this.#undo(this.#pick(this.#alive()));
    if (random.isTrue(rates.restore)) this.#restore(this.#pick(this.#dead()));
    if (random.isTrue(rates.hide)) this.#hide(this.#pick(this.#alive()));
    if (random.isTrue(rates.hide))
      this.#unhide(this.#pick(this.#alive().filter((kept) => kept.isHidden)));
  }

  /** Whether the next request fails. */
  isFailing(): boolean {
    return !this.isQuiet && this.#random.isTrue(this.settings.rates.fault);
  }

  #spite(): void {
    const alive = this.#alive();
    const {order} = this.settings;
    if (order === 'changed') this.#edit(alive.at(-1) ?? null);
    else this.#delete((order === 'number' ? alive[0] : alive.at(-1)) ?? null);
  }

  insert(): void {
    const {settings} = this;
    if (this.#random.isTrue(settings.rates.burn))
      this.#lastNumber += this.#random.integer(1, settings.burnt);
    this.#bear(this.#nextNumber());
  }

  /**
   * Inserts a record where spite finds it: last by change, or first on the last page of a list by
   * number.
   */
  bury(): void {
    this.insert();
    if (this.settings.order === 'changed')
      for (const record of this.#alive().slice(0, -1)) this.#edit(record);
    else while (this.aliveCount % this.settings.pageSize !== 1) this.insert();
  }

  /** Deletes so many records, picked by chance. */
  deleteMany(count: number): void {
    for (let at = 0; at < count; at++) this.#delete(this.#pick(this.#alive()));
  }

  /** Brings back the records deleted after a tick. */
  restoreSince(tick: number): void {
    for (const record of this.#dead())
      if ((record.lives.at(-1)?.to ?? 0) > tick) this.#restore(record);
  }

  #nextNumber(): number {
    return ++this.#lastNumber;
  }

  #arrive(): void {
    const number = this.#late.shift();
    if (number !== undefined) this.#bear(number);
  }

  #bear(number: number): void {
    const tick = this.#note(`insert ${number}`);
    const version = {
      tick,
      name: this.#name(number, 1),
      notes: this.#random.isTrue(0.5) ? [this.#write()] : [],
    };
    this.#records.set(number, {
      number,
      lives: [{from: tick, to: null}],
      hidings: [],
      versions: [version],
      version,
      isAlive: true,
      isHidden: false,
    });
  }

  #delete(record: Kept | null): void {
    if (record === null) return;
    const tick = this.#note(`delete ${record.number}`);
    const life = record.lives.at(-1);
    if (life !== undefined) life.to = tick;
    record.isAlive = false;
  }

  #restore(record: Kept | null): void {
    if (record === null) return;
    record.lives.push({from: this.#note(`restore ${record.number}`), to: null});
    record.isAlive = true;
  }

  #edit(record: Kept | null): void {
    if (record === null) return;
    const tick = this.#note(`edit ${record.number}`);
    const name = this.#name(record.number, record.versions.length + 1);
    this.#become(record, {tick, name, notes: this.#editNotes(record.version.notes)});
  }

  /** Repeats the record's earlier content: bytes that were known once. */
  #undo(record: Kept | null): void {
    const earlier = record?.versions.at(-2);
    if (record === null || earlier === undefined) return;
    const tick = this.#note(`undo ${record.number}`);
    this.#become(record, {...earlier, tick});
  }

  #become(record: Kept, version: Version): void {
    record.versions.push(version);
    record.version = version;
  }

  #hide(record: Kept | null): void {
    if (record === null || record.isHidden) return;
    record.hidings.push({from: this.#note(`hide ${record.number}`), to: null});
    record.isHidden = true;
  }

  #unhide(record: Kept | null): void {
    const hiding = record?.hidings.at(-1);
    if (record === null || hiding === undefined) return;
    hiding.to = this.#note(`unhide ${record.number}`);
    record.isHidden = false;
  }

  #editNotes(notes: readonly Note[]): readonly Note[] {
    const chance = this.#random.next();
    if (chance < 0.7) return notes;
    if (chance < 0.8) return [...notes, this.#write()];
    const [first, ...others] = notes;
    if (chance < 0.9 || first === undefined) return others;
    return [{id: first.id, note: `${first.note}, corrected`}, ...others];
  }

  #write(): Note {
    const id = ++this.#lastNoteId;
    return {id: String(id), note: `Note ${id}`};
  }

  #name(number: number, version: number): string {
    return `Record ${number} v${version}`;
  }

  #alive(): Kept[] {
    return [...this.#records.values()].filter((record) => record.isAlive);
  }

  #dead(): Kept[] {
    return [...this.#records.values()].filter((record) => !record.isAlive);
  }

  #pick(records: readonly Kept[]): Kept | null {
    return records[Math.floor(this.#random.next() * records.length)] ?? null;
  }

  #sort(records: Kept[]): Kept[] {
    const {order, hasTies} = this.settings;
    if (order === 'number') return records.sort((a, b) => a.number - b.number);
    if (order === 'reversed') return records.sort((a, b) => b.number - a.number);
    const places = new Map(records.map((record) => [record, hasTies ? this.#random.next() : 0]));
    const timeOf = ({version, lives}: Kept) => {
      const changedAt = Math.max(version.tick, lives.at(-1)?.from ?? 0);
      return hasTies ? Math.floor(changedAt / ticksPerSecond) : changedAt;
    };
    return records.sort(
      (a, b) => timeOf(b) - timeOf(a) || (places.get(a) ?? 0) - (places.get(b) ?? 0),
    );
  }

  #note(event: string): number {
    this.#tick++;
    this.#events.update(`${this.#tick} ${event}\n`);
    return this.#tick;
  }
}
