import type {Member} from './member.ts';

export const jobType: Member = {
  name: 'dim_job_type',
  comment: 'One row for each kind of job; -1 is no kind.',
  columns: [
    ['job_type_key', 'kind.row_id', 'Key of the kind of job; it never changes.'],
    ['account_key', 'kind.account_id', 'The account: dim_account.'],
    ['job_type_id', 'kind.id', 'Internal key at the service.'],
    ['name', 'kind.name', 'Name of the kind of job.'],
    ['usual_minutes', 'kind.duration', 'How long such a job usually takes.'],
  ],
  from: 'FROM {job_types} AS kind WHERE kind.id IS NOT NULL',
  missing: {job_type_key: '-1', name: `'No type'`},
};

export const jobStatus: Member = {
  name: 'dim_job_status',
  comment: "One row for each status of the account's own making; -1 is none.",
  columns: [
    ['job_status_key', 'status.row_id', 'Key of the status; it never changes.'],
    ['account_key', 'status.account_id', 'The account: dim_account.'],
    ['job_status_id', 'status.id', 'Internal key at the service.'],
    ['name', 'status.name', 'Name of the status.'],
    ['color', 'status.color', 'Colour the status is shown in.'],
  ],
  from: 'FROM {job_statuses} AS status WHERE status.id IS NOT NULL',
  missing: {job_status_key: '-1', name: `'No status'`},
};

export const taxEntity: Member = {
  name: 'dim_tax_entity',
  comment: 'One row for each tax; -1 is none.',
  columns: [
    ['tax_entity_key', 'tax.row_id', 'Key of the tax; it never changes.'],
    ['account_key', 'tax.account_id', 'The account: dim_account.'],
    ['tax_id', 'tax.id', 'Internal key at the service.'],
    ['name', 'tax.name', 'Name of the tax.'],
    ['tax_rate', 'tax.tax_rate', 'Rate of the tax.'],
    ['agency', 'tax.agency', 'Whom the tax is paid to.'],
  ],
  from: 'FROM {tax_entities} AS tax WHERE tax.id IS NOT NULL',
  missing: {tax_entity_key: '-1', name: `'No tax'`},
};
