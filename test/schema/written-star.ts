// The star by its names, written down by hand.

const dimensions = [
  'account',
  'customer',
  'employee',
  'item',
  'job_status',
  'job_type',
  'tax_entity',
].map((name) => `dim_${name}`);
const facts = [
  ...[
    'assignment',
    'backlog_day',
    'employee_day',
    'job',
    'job_charge',
    'open_job_day',
    'repeat_visit',
    'task',
    'time_entry',
  ],
].map((name) => `fct_${name}`);
const answers = [
  ...[
    'backlog',
    'backlog_age',
    'bookings',
    'cancellations',
    'cohorts',
    'collected',
    'days_outstanding',
    'days_to_money',
    'debtors',
    'discounts',
  ],
  ...[
    'estimates',
    'freshness',
    'invoiced',
    'items',
    'lapsed_customers',
    'largest_customers',
    'late_tasks',
    'load_ahead',
    'margin',
    'new_customers',
  ],
  ...[
    'open_estimates',
    'open_jobs',
    'overdue',
    'planned_lengths',
    'plans',
    'punctuality',
    'repeat_visits',
    'reschedules',
    'retention',
    'revenue_by_month',
  ],
  ...[
    'revenue_by_week',
    'revenue_to_date',
    'rush_hours',
    'sales_tax',
    'technicians',
    'unbilled',
    'unscheduled',
    'utilisation',
    'week_ahead',
    'weeks',
    'work_mix',
  ],
].map((name) => `ask_${name}`);
/** Those of which there is a form as of a moment. */
export const ofMoments = [...dimensions, ...facts, ...answers];
export const members = [
  ...ofMoments,
  'dim_customer_version',
  'dim_employee_version',
  'fct_job_status_change',
  'fct_payment',
  'fct_reschedule',
];
export const star = [
  ...members,
  ...[
    'dim_date',
    'dim_job_state',
    'settings',
    'capacity',
    'closed_days',
    'labels',
    'reported',
    'freshness',
  ],
];
