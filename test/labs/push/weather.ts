import type {WriteOdds} from './mischief.ts';

/** The odds of every trouble in a run. */
export interface Weather {
  readonly odds: WriteOdds;
  readonly readTrouble: number;
  readonly death: number;
  readonly stall: number;
  /** How likely it is that Postgres ends every session in a round. */
  readonly outage: number;
}

/** Every trouble happens, and most requests arrive all the same. */
export const storm: Weather = {
  odds: {
    pass: 55,
    lose: 7,
    cut: 5,
    fail: 5,
    late: 5,
    drop: 3,
    gateway: 2,
    busy: 3,
    throttled: 3,
    empty: 4,
    'no-content': 4,
    located: 4,
  },
  readTrouble: 0.04,
  death: 0.004,
  stall: 0.015,
  outage: 0.25,
};

/** No trouble strikes any request. */
export const certain: WriteOdds = {
  ...storm.odds,
  lose: 0,
  cut: 0,
  fail: 0,
  late: 0,
  drop: 0,
  gateway: 0,
  busy: 0,
  throttled: 0,
  empty: 0,
  'no-content': 0,
  located: 0,
};
