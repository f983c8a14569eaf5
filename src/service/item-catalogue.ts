// The kinds of work: the season, the complaints, the parts and the duration of each.

import {trades} from './store-foundation.ts';

export interface Part {
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
  /** How many technicians it takes at most. */
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

interface Kind {
  readonly season: Season;
  readonly share: number;
  readonly complaints: readonly [string, ...string[]];
  readonly parts: readonly [readonly [string, number], ...(readonly [string, number])[]];
  readonly rateCents?: number;
  readonly crew?: number;
}

const kinds: Readonly<Record<string, Kind>> = {
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
export const catalogue: readonly Work[] = trades.map((trade) => {
  const kind = kinds[trade.id];
  if (kind === undefined) throw new TypeError(`no catalogue for job type ${trade.id}`);
  const {season, share, complaints, parts, rateCents = 9500, crew = 2} = kind;
  const number = ([name, cents]: readonly [string, number], index: number): Part => ({
    itemId: String(Number(trade.id) * 100 + index + 1),
    name,
    cents,
  });
  const [first, ...rest] = parts;
  return {
    jobTypeId: trade.id,
    name: trade.name,
    minutes: trade.minutes,
    months: season.map((weight) => weight * share),
    complaints,
    parts: [number(first, 0), ...rest.map((part, index) => number(part, index + 1))],
    rateCents,
    crew,
  };
});

/** The item under which hours are charged. */
export const labourItemId = '9001';
