// The parts of a made-up business. They are chance that is the same for the same seed; words from
// which names, places and sentences are made up; and the kinds of work. A kind of work has a
// season, complaints, parts and a duration. No list of real people or firms was used; telephone
// numbers come from the range 555-0100 to 555-0199, mail addresses from example.com and
// example.org.

import {trades} from './foundation.ts';

/**
 * Made-up chance that is the same for the same seed. Each thing uses a separate stream, named by
 * its kind and its place. So no thing depends on how many others were made before it.
 */
export class Random {
  #state: number;

  constructor(seed: string, label: string, index: number) {
    this.#state = hash(`${seed}/${label}/${index}`);
  }

  /** From 0 to just under 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number, both ends included. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  isTrue(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[Math.floor(this.next() * list.length)] ?? list[0];
  }

  /** The index of a weight, chosen with a probability in proportion to the weight. */
  weighted(weights: readonly number[]): number {
    let remaining = this.next() * weights.reduce((sum, weight) => sum + weight, 0);
    const index = weights.findIndex((weight) => {
      remaining -= weight;
      return remaining < 0;
    });
    return Math.max(0, index);
  }

  /** Characters of an alphabet, for tokens and the like. */
  text(length: number, alphabet: string): string {
    return Array.from({length}, () => alphabet.charAt(this.integer(0, alphabet.length - 1))).join(
      '',
    );
  }
}

/** FNV-1a with a final mix: similar inputs give very different results. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let index = 0; index < text.length; index++)
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

type WordList = readonly [string, ...string[]];

const firstNames: WordList = [
  'Ada',
  'Bo',
  'Cleo',
  'Dario',
  'Elin',
  'Fritz',
  'Gemma',
  'Hugo',
  'Ines',
  'Joss',
  'Kaja',
  'Levi',
  'Mira',
  'Noé',
  'Orla',
  'Pim',
  'Quinn',
  'Renée',
  'Sören',
  'Tova',
  'Ulla',
  'Vito',
  'Wren',
  'Xenia',
  'Yuki',
  'Zoë',
];
const nameStarts: WordList = [
  'Alder',
  'Bram',
  'Calder',
  'Dun',
  'Elm',
  'Fen',
  'Grün',
  'Hazel',
  'Iver',
  'Kest',
  'Lark',
  'Mar',
  'Nor',
  'Oak',
  'Pell',
  'Quill',
  'Raven',
  'Stán',
  'Thorn',
  'Win',
];
const nameEnds: WordList = [
  'wick',
  'holt',
  'mere',
  'ford',
  'stead',
  'ström',
  'worth',
  'by',
  'combe',
  'ley',
  'bück',
  'dale',
];
const firmKinds: WordList = [
  'Bakery',
  'Dental Care',
  'Property Management',
  'Motors',
  'Primary School',
  'Café',
  'Storage',
  'Brewing',
  'Books',
  'Veterinary Clinic',
];
const firmForms: WordList = ['', ' LLC', ' & Sons', ' Inc.', ' & Co.', ' Group'];
const streets: WordList = [
  'Alder Lane',
  'Birch Street',
  'Canal Road',
  'Depot Avenue',
  'Elder Court',
  'Ferry Way',
  'Granite Hill',
  'Harbor Street',
  'Juniper Drive',
  'Kiln Road',
];
const addressExtras: WordList = [
  'Unit 4',
  'Rear entrance',
  'Suite 210',
  '2nd floor',
  'c/o front desk',
  'Apt. B',
];
const towns: WordList = [
  'Marlow Falls',
  'Eastbrook',
  'Pinewick',
  'Saint Aldan',
  'Coldwater Bend',
  'Harlan Ridge',
  'Nörd Haven',
  'Stonebridge',
];
const areaCodes: WordList = ['937', '614', '413', '201'];
const instructions: WordList = [
  'Gate code 0417, then the HTTP API on the left.',
  'Dog in the yard 🐕 — call first!',
  'Key is with the neighbour at no. 12 & no. 14.',
  '  Park on the street only.',
  'Ask for "Sam" at the desk; <do not> ring after 6 pm.',
  'Boiler room: 日本 sticker on the HTTP API.\nCeiling is low.',
  'Très bon accueil; parler à la gérante.',
];
const remarks: WordList = [
  'Called, left a message.',
  'Prefers mornings.',
  'Wants a quote for a new unit before winter.',
  'Paid by check at the HTTP API.',
  'Filter size is 16x25x1.\r\nNeeds two.',
  'Noise is back; under warranty until next year.',
  'Asked to be invoiced at month’s end.',
  'Access through the alley & the back gate.',
];

/** The two names of a person. */
export interface Person {
  readonly first: string;
  readonly last: string;
}

export function makePerson(random: Random): Person {
  return {first: random.pick(firstNames), last: random.pick(nameStarts) + random.pick(nameEnds)};
}

export function makeFirm(random: Random): string {
  const familyName = `${random.pick(nameStarts)}${random.pick(nameEnds)}`;
  const name = `${familyName} ${random.pick(firmKinds)}${random.pick(firmForms)}`;
  return random.isTrue(0.04) ? `"${name}"` : name;
}

/**
 * Streets with a second line now and then, whose line break is LF or CRLF: both were seen on the
 * wire.
 */
export function makeStreet(random: Random): string {
  const street = `${random.integer(1, 2400)} ${random.pick(streets)}`;
  if (!random.isTrue(0.15)) return street;
  return `${street}${random.isTrue(0.5) ? '\n' : '\r\n'}${random.pick(addressExtras)}`;
}

/** A made-up town with its state; zip codes of two of the states begin with a zero. */
export function makeTown(random: Random): {
  readonly city: string;
  readonly state: string;
  readonly zip: string;
} {
  const state = random.pick(['OH', 'OH', 'NJ', 'MA']);
  const zip = `${state === 'OH' ? '45' : '01'}${random.integer(100, 180)}`;
  const tail = random.integer(0, 39);
  const suffix = tail === 0 ? `-${random.integer(1000, 9999)}` : '';
  return {city: random.pick(towns), state, zip: `${tail === 1 ? ' ' : ''}${zip}${suffix}`};
}

export function makePhone(random: Random): string {
  return `(${random.pick(areaCodes)}) 555-01${String(random.integer(0, 99)).padStart(2, '0')}`;
}

/** @param index - makes the address unique */
export function makeMail(person: Person, index: number): string {
  const local = `${person.first}.${person.last}`
    .normalize('NFD')
    .replaceAll(/[^A-Za-z.]/g, '')
    .toLowerCase();
  return `${local}${index}@example.${index % 5 === 0 ? 'org' : 'com'}`;
}

/** Instructions one after the other, so that the least business has each of them. */
export function makeInstruction(index: number): string {
  return instructions[index % instructions.length] ?? '';
}

/** How many instructions there are. */
export const instructionCount = instructions.length;

export function makeRemark(random: Random): string {
  return random.pick(remarks);
}

/**
 * Cents as the service writes money: `325.0`, `28.03`, `1234.5`; `275.10` if both places are kept.
 */
export function writeMoney(cents: number, isPadded = false): string {
  const text = (cents / 100).toFixed(2);
  return isPadded ? text : text.replace(/0$/, '');
}

interface Part {
  readonly itemId: string;
  readonly name: string;
  readonly cents: number;
}

/** One kind of work. */
export interface Work {
  readonly jobTypeId: string;
  readonly name: string;
  readonly minutes: number;
  /** How much of it there is, January first. */
  readonly months: readonly number[];
  /** Complaints in the words of customers. */
  readonly complaints: readonly [string, ...string[]];
  readonly parts: readonly [Part, ...Part[]];
  /** Labour, cents an hour. */
  readonly rateCents: number;
  /** How many technicians the work needs at most. */
  readonly crew: number;
}

type Season = readonly [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];

const winter: Season = [3, 2.6, 1.8, 0.8, 0.3, 0.1, 0.1, 0.1, 0.4, 1.2, 2, 2.8];
const summer: Season = [0.1, 0.1, 0.2, 0.6, 1.6, 2.8, 3.2, 3, 1.4, 0.4, 0.1, 0.1];
const tuneUps: Season = [0.5, 0.5, 1.4, 2.4, 1.8, 0.6, 0.4, 0.5, 1.6, 2.4, 1.2, 0.5];
const steady: Season = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1];

interface WorkKind {
  readonly season: Season;
  readonly share: number;
  readonly complaints: readonly [string, ...string[]];
  readonly parts: readonly [readonly [string, number], ...(readonly [string, number])[]];
  readonly rateCents?: number;
  readonly crew?: number;
}

const workKinds: Readonly<Record<string, WorkKind>> = {
  '101': {
    season: winter,
    share: 1,
    complaints: [
      'no heat upstairs',
      'furnace short cycles',
      'boiler leaks',
      'pilot light goes out',
    ],
    parts: [
      ['Igniter', 8450],
      ['Flame sensor', 4275],
      ['Circulator pump', 27_510],
      ['Thermocouple', 1899],
    ],
  },
  '102': {
    season: summer,
    share: 1,
    complaints: ['not cooling', 'ice on the line set', 'condensate overflow', 'noisy condenser'],
    parts: [
      ['Capacitor 45/5 µF', 3600],
      ['Contactor', 4125],
      ['Refrigerant, lb', 9500],
      ['Fan motor', 31_250],
    ],
  },
  '103': {
    season: tuneUps,
    share: 0.9,
    complaints: ['yearly tune-up', 'spring check & clean', 'filter change'],
    parts: [
      ['Filter 16x25x1', 1295],
      ['Cleaning kit', 2400],
    ],
  },
  '104': {
    season: steady,
    share: 1.1,
    complaints: ['kitchen drain clogged', 'water heater drips', 'toilet runs', 'low pressure'],
    parts: [
      ['Ball valve 3/4"', 2275],
      ['P-trap', 1450],
      ['Anode rod', 5210],
      ['Pipe, ft', 395],
    ],
  },
  '105': {
    season: steady,
    share: 0.8,
    complaints: ['breaker trips', 'new outlet in garage', 'lights flicker'],
    parts: [
      ['GFCI outlet', 2890],
      ['Breaker 20 A', 1725],
      ['Wire 12/2, ft', 110],
    ],
    rateCents: 11_000,
  },
  '106': {
    season: steady,
    share: 0.4,
    complaints: ['new furnace', 'heat pump', 'panel upgrade', 'mini-split for the sunroom'],
    parts: [
      ['Furnace 80k BTU', 189_900],
      ['Heat pump 3 t', 412_500],
      ['Copper line set', 21_075],
      ['Pad', 6400],
    ],
    rateCents: 12_500,
    crew: 3,
  },
  '107': {
    season: steady,
    share: 0.4,
    complaints: ['before sale of the house', 'backflow test', 'permit inspection'],
    parts: [['Test report', 3500]],
  },
  '108': {
    season: steady,
    share: 0.3,
    complaints: ['burst pipe', 'smell of gas', 'no heat, infant at home'],
    parts: [
      ['Repair clamp', 2650],
      ['Shut-off valve', 3825],
    ],
    rateCents: 18_500,
  },
};

/** All kinds of work, one per job type. */
export const workCatalogue: readonly Work[] = trades.map((trade) => {
  const kind = workKinds[trade.id];
  if (kind === undefined) throw new TypeError(`no catalogue for job type ${trade.id}`);
  const {season, share, complaints, parts, rateCents = 9500, crew = 2} = kind;
  const makePart = ([name, cents]: readonly [string, number], index: number): Part => ({
    itemId: String(Number(trade.id) * 100 + index + 1),
    name,
    cents,
  });
  const [firstPart, ...otherParts] = parts;
  return {
    jobTypeId: trade.id,
    name: trade.name,
    minutes: trade.minutes,
    months: season.map((weight) => weight * share),
    complaints,
    parts: [makePart(firstPart, 0), ...otherParts.map((part, index) => makePart(part, index + 1))],
    rateCents,
    crew,
  };
});

/** The item under which hours are charged. */
export const labourItemId = '9001';
