// How answers are shown to those who run a business: which answers form a board, for whom, and the
// charts of the answers that have one.

import type {QuestionAnswer} from './answer.ts';
import type {Chart, Series} from './chart.ts';
import type {Question} from './member.ts';

/** A page of answers for one person's morning. */
export interface Board {
  /** Its word in an address. */
  readonly name: string;
  readonly title: string;
  /** Its readers, and when they read it. */
  readonly sentence: string;
  readonly questions: readonly Question['name'][];
}

export const boards: readonly Board[] = [
  {
    name: 'owner',
    title: 'Owner',
    sentence: 'Monday morning: what came in, what is owed, what is stuck.',
    questions: [
      'ask_revenue_by_week',
      'ask_week_ahead',
      'ask_open_estimates',
      'ask_backlog_age',
      'ask_debtors',
      'ask_utilisation',
      'ask_unbilled',
      'ask_overdue',
    ],
  },
  {
    name: 'dispatcher',
    title: 'Dispatcher',
    sentence: 'Today and the next two weeks: who has room, what waits, what moves.',
    questions: [
      'ask_load_ahead',
      'ask_unscheduled',
      'ask_overdue',
      'ask_late_tasks',
      'ask_rush_hours',
      'ask_reschedules',
      'ask_planned_lengths',
    ],
  },
  {
    name: 'bookkeeper',
    title: 'Bookkeeper',
    sentence: 'The month: what was invoiced, what was paid, what is due.',
    questions: [
      'ask_invoiced',
      'ask_collected',
      'ask_debtors',
      'ask_days_to_money',
      'ask_unbilled',
      'ask_sales_tax',
      'ask_margin',
      'ask_discounts',
    ],
  },
  {
    name: 'customers',
    title: 'Customers',
    sentence: 'Who is new, who comes back, who stayed away.',
    questions: [
      'ask_new_customers',
      'ask_largest_customers',
      'ask_retention',
      'ask_lapsed_customers',
      'ask_plans',
    ],
  },
];

/** The subjects of the questions, for a person who searches for one. */
export const subjects: readonly Pick<Board, 'title' | 'questions'>[] = [
  {
    title: 'Money',
    questions: [
      ...(['ask_revenue_by_week', 'ask_revenue_by_month', 'ask_revenue_to_date'] as const),
      ...(['ask_weeks', 'ask_work_mix', 'ask_items', 'ask_invoiced', 'ask_collected'] as const),
      ...(['ask_debtors', 'ask_days_outstanding', 'ask_days_to_money'] as const),
      ...(['ask_unbilled', 'ask_sales_tax', 'ask_margin', 'ask_discounts'] as const),
    ],
  },
  {
    title: 'Work',
    questions: [
      ...(['ask_week_ahead', 'ask_load_ahead', 'ask_open_jobs', 'ask_backlog'] as const),
      ...(['ask_backlog_age', 'ask_unscheduled', 'ask_overdue', 'ask_bookings'] as const),
      ...(['ask_rush_hours', 'ask_reschedules', 'ask_cancellations'] as const),
      ...(['ask_repeat_visits', 'ask_freshness'] as const),
    ],
  },
  {
    title: 'Customers',
    questions: [
      ...(['ask_new_customers', 'ask_largest_customers', 'ask_retention'] as const),
      ...(['ask_cohorts', 'ask_lapsed_customers', 'ask_estimates'] as const),
      ...(['ask_open_estimates', 'ask_plans'] as const),
    ],
  },
  {
    title: 'People',
    questions: [
      ...(['ask_utilisation', 'ask_technicians', 'ask_planned_lengths'] as const),
      ...(['ask_punctuality', 'ask_late_tasks'] as const),
    ],
  },
];

interface Drawing {
  /** The column along the axis. */
  readonly along: string;
  /** Whether the bars are horizontal, with their names beside them. */
  readonly isLying?: boolean;
  /** The columns that the chart shows, each with its kind of series. */
  readonly series: Readonly<Record<string, Series['kind']>>;
  /** Whether the series are stacked. */
  readonly isStacked?: boolean;
}

const ageSeries = {
  up_to_7_days: 'area',
  up_to_30_days: 'area',
  up_to_60_days: 'area',
  older: 'area',
} as const;

/** By question; a test checks each column against those of the answer. */
export const drawings: Partial<Readonly<Record<Question['name'], Drawing>>> = {
  ask_revenue_by_week: {along: 'week', series: {revenue: 'bar', four_week_mean: 'line'}},
  ask_revenue_by_month: {along: 'month', series: {revenue: 'bar', a_year_before: 'line'}},
  ask_backlog: {along: 'date', series: {open_jobs: 'line'}},
  ask_backlog_age: {along: 'date', series: ageSeries, isStacked: true},
  ask_bookings: {along: 'week', series: {booked: 'bar'}},
  ask_week_ahead: {along: 'date', series: {amount: 'bar'}},
  ask_invoiced: {along: 'month', series: {invoiced_before_tax: 'bar', unpaid: 'line'}},
  ask_collected: {along: 'week', series: {collected: 'bar'}},
  ask_margin: {along: 'month', series: {revenue_known: 'bar', margin: 'line'}},
  ask_discounts: {along: 'month', series: {discount: 'bar'}},
  ask_days_to_money: {
    along: 'month',
    series: {booked_to_done: 'line', done_to_invoice: 'line', invoice_to_paid: 'line'},
  },
  ask_load_ahead: {along: 'date', series: {planned_hours: 'bar', capacity_hours: 'line'}},
  ask_reschedules: {along: 'week', series: {moved: 'bar', on_short_notice: 'bar'}},
  ask_planned_lengths: {
    along: 'name',
    series: {planned_hours: 'bar', hours: 'bar'},
    isLying: true,
  },
  ask_new_customers: {
    along: 'month',
    series: {revenue_new: 'bar', revenue_repeat: 'bar'},
    isStacked: true,
  },
  ask_largest_customers: {along: 'name', series: {revenue: 'bar'}, isLying: true},
  ask_estimates: {
    along: 'quarter',
    series: {won: 'bar', lost: 'bar', undecided: 'bar'},
    isStacked: true,
  },
};

/** More bars than these cannot be distinguished. */
const mostDrawn = 60;
const maxHorizontalBars = 15;

/** @returns null if the answer has no chart, or no rows */
export function buildChart(
  {name, question, definition, grouped}: Question,
  {json}: QuestionAnswer,
): Chart | null {
  const drawing = drawings[name];
  if (grouped !== undefined || drawing === undefined || json.rows.length === 0) return null;
  const {along, series, isStacked = false, isLying = false} = drawing;
  // Answers begin with the newest row; a chart runs from left to right. Horizontal bars keep the
  // order of the answer.
  const rows = isLying
    ? json.rows.slice(0, maxHorizontalBars)
    : json.rows
        .slice(0, mostDrawn)
        .toSorted((left, right) => compareCells(left[along], right[along]));
  return {
    form: isLying ? 'rows' : 'columns',
    title: question,
    sentence: definition,
    names: rows.map((row) => String(row[along] ?? '')),
    series: Object.entries(series).map(([column, kind]) => ({
      name: column.replaceAll('_', ' '),
      kind,
      values: rows.map((row) => toNumber(row[column])),
      ...(isStacked ? {stack: 'all'} : {}),
    })),
  };
}

function compareCells(left: unknown, right: unknown): number {
  if (typeof left === 'number' && typeof right === 'number') return left - right;
  return String(left) < String(right) ? -1 : 1;
}

function toNumber(value: unknown): number | null {
  return value === null || value === undefined ? null : Number(value);
}

/**
 * An answer whose rows are cells of a table: the column of the rows, that of the columns, and that
 * of the cells.
 */
interface GridColumns {
  readonly down: string;
  readonly across: string;
  /** The column with the names for `across`; if left out, `across` itself. */
  readonly acrossName?: string;
  readonly value: string;
}

/** By question; a test checks each column against those of the answer. */
export const gridColumns: Partial<Readonly<Record<Question['name'], GridColumns>>> = {
  ask_rush_hours: {down: 'hour', across: 'weekday', acrossName: 'weekday_name', value: 'jobs'},
  ask_cohorts: {down: 'cohort', across: 'quarters_after', value: 'worth'},
  ask_utilisation: {down: 'name', across: 'week', value: 'percent'},
};

/** A table of two directions; a cell without a row is null. */
export interface Grid {
  readonly title: string;
  /** The text in the corner: the names of the columns that are down and across. */
  readonly corner: string;
  readonly names: readonly string[];
  readonly rows: readonly {readonly name: string; readonly values: readonly (number | null)[]}[];
}

/** @returns null if the answer is no such table, or has no row */
export function buildGrid(
  {name, question, grouped}: Question,
  {json: {rows}}: QuestionAnswer,
): Grid | null {
  const columns = gridColumns[name];
  if (grouped !== undefined || columns === undefined || rows.length === 0) return null;
  const {down, across, acrossName = across, value} = columns;
  const listValues = (column: string) =>
    [...new Set(rows.map((row) => row[column]))].toSorted(compareCells);
  const acrossValues = listValues(across);
  const findAcrossName = (acrossValue: unknown) =>
    rows.find((row) => row[across] === acrossValue)?.[acrossName];
  const cells = new Map(rows.map((row) => [JSON.stringify([row[down], row[across]]), row[value]]));
  return {
    title: question,
    corner: `${down} / ${across}`.replaceAll('_', ' '),
    names: acrossValues.map((acrossValue) =>
      String(findAcrossName(acrossValue) ?? '').replace(/(?<=^\w{3})\w*day$/, ''),
    ),
    rows: listValues(down).map((downValue) => ({
      name: String(downValue ?? ''),
      values: acrossValues.map((acrossValue) =>
        toNumber(cells.get(JSON.stringify([downValue, acrossValue]))),
      ),
    })),
  };
}
