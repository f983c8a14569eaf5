// Pages for those who run a business: which answers stand together, for whom.

import type {Question} from './question.ts';

/** A page of answers for one person's morning. */
export interface Board {
  /** Its word in an address. */
  readonly name: string;
  readonly title: string;
  /** Who looks at it, and when. */
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
      'ask_collected',
      'ask_debtors',
      'ask_days_to_money',
      'ask_unbilled',
      'ask_sales_tax',
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
    ],
  },
];
