import {mirrorTable} from './mirror-table.ts';

/** Categories of jobs, as jobs embed them. No recording shows one (docs/service.md "Fields"). */
export const jobTypes = mirrorTable('job_types', {
  comment: 'Categories of jobs; the service calls them services as well.',
  key: ['id'],
  columns: [
    {name: 'id', type: 'integer', comment: 'Internal key; jobs point at it as job_type_id.'},
    {name: 'name', type: 'text', comment: 'Name of the category.'},
    {name: 'description', type: 'text', comment: 'What belongs to the category.'},
    {name: 'duration', type: 'decimal', comment: 'Usual length in minutes.'},
    {name: 'active', type: 'boolean', comment: 'False once the category is out of use.'},
    {name: 'created_at', type: 'instant', comment: 'When the category was created at the service.'},
    {
      name: 'updated_at',
      type: 'instant',
      comment: 'When the category was last touched at the service.',
    },
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the category deleted.'},
  ],
});
