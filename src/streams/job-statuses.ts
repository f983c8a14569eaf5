import {mirrorTable} from './mirror-table.ts';

/**
 * Statuses of the account's own making, as jobs embed them. No recording shows one (docs/service.md
 * "Fields").
 */
export const jobStatuses = mirrorTable('job_statuses', {
  comment: 'Statuses that the account defined for its jobs, beside the built-in ones.',
  key: ['id'],
  columns: [
    {name: 'id', type: 'integer', comment: 'Internal key; jobs point at it as job_status_id.'},
    {name: 'name', type: 'text', comment: 'Name of the status.'},
    {name: 'description', type: 'text', comment: 'What the status means.'},
    {name: 'color', type: 'text', comment: 'Colour the status is shown in.'},
    {name: 'active', type: 'boolean', comment: 'False once the status is out of use.'},
    {name: 'created_at', type: 'instant', comment: 'When the status was created at the service.'},
    {
      name: 'updated_at',
      type: 'instant',
      comment: 'When the status was last touched at the service.',
    },
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the status deleted.'},
  ],
});
