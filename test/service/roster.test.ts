// Who of the made-up business is where: decided from the plan alone, without a database.

import {describe, expect, test} from 'vitest';
import {BusinessPlan} from '../../src/service/business-plan.ts';
import type {WorkOrder} from '../../src/service/order.ts';
import {Roster} from '../../src/service/order.ts';
import {measureWorkedMinutes, readLifeAt, readStart} from '../../src/service/order-life.ts';

const scale = {
  seed: '1',
  customers: 300,
  jobs: 1_800,
  today: '2026-08-24',
  timeZone: 'America/New_York',
};

function listOrders(horizon = 0): {
  readonly plan: BusinessPlan;
  readonly orders: readonly WorkOrder[];
} {
  const plan = new BusinessPlan(scale, horizon);
  const roster = new Roster(plan, plan.lastJobs);
  return {plan, orders: Array.from({length: plan.lastJobs}, (_, index) => roster.order(index))};
}

const minutesBetween = (from: string, to: string) => (Date.parse(to) - Date.parse(from)) / 60_000;

describe('the technicians of a made-up business', () => {
  const visits = listOrders().orders.filter(({life}) => life.startedAt !== null);

  test('are in two places at once on fewer than 1% of the visits', () => {
    let overlaps = 0;
    const leftAt = new Map<number, number>();
    const inTime = visits.toSorted((one, other) =>
      (one.life.startedAt ?? '') < (other.life.startedAt ?? '') ? -1 : 1,
    );
    for (const {crew, life, minutes} of inTime) {
      const begins = Date.parse(life.startedAt ?? '');
      for (const technician of crew) {
        const left = leftAt.get(technician) ?? 0;
        if (begins < left) overlaps++;
        leftAt.set(
          technician,
          Math.max(left, begins + measureWorkedMinutes(life, minutes) * 60_000),
        );
      }
    }
    expect(overlaps).toBeLessThan(visits.length * 0.01);
  });

  test('are mostly on time, sometimes late, and rarely more than two hours late', () => {
    const late = visits.map(({life}) =>
      minutesBetween(readStart(life) ?? '', life.startedAt ?? ''),
    );
    const share = (holds: (minutes: number) => boolean) => late.filter(holds).length / late.length;
    expect(share((minutes) => minutes <= 15)).toBeGreaterThan(0.6);
    expect(share((minutes) => minutes > 15)).toBeGreaterThan(0.1);
    expect(share((minutes) => minutes > 120)).toBeLessThan(0.03);
  });

  test('start visits between 7 am and 6 pm, and emergency calls before 10 pm', () => {
    const hourOf = (instant: string) =>
      Number(
        new Date(instant).toLocaleString('en-US', {
          hour: 'numeric',
          hourCycle: 'h23',
          timeZone: scale.timeZone,
        }),
      );
    for (const {life, work} of visits) {
      const hour = hourOf(readStart(life) ?? '');
      expect(hour).toBeGreaterThanOrEqual(7);
      expect(hour).toBeLessThan(work.name === 'Emergency call' ? 22 : 18);
    }
  });
});

test('events before now do not depend on how far ahead the plan reaches', () => {
  const near = listOrders();
  const far = listOrders(90);
  expect(far.orders.length).toBeGreaterThan(near.orders.length);
  for (const [index, order] of near.orders.entries()) {
    const {life, ...later} = far.orders[index] ?? order;
    const {life: known, ...rest} = order;
    expect(later).toEqual(rest);
    expect(readLifeAt(life, near.plan.now)).toEqual(readLifeAt(known, near.plan.now));
  }
});
