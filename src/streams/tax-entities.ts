import {mirrorTable} from './mirror-table.ts';

/** Taxes, as customers and jobs embed them. No recording shows one (docs/service.md "Fields"). */
export const taxEntities = mirrorTable('tax_entities', {
  comment: 'Taxes that apply to customers and jobs.',
  key: ['id'],
  columns: [
    {
      name: 'id',
      type: 'integer',
      comment: 'Internal key; customers and jobs point at it as tax_id.',
    },
    {name: 'name', type: 'text', comment: 'Name of the tax.'},
    {name: 'description', type: 'text', comment: 'What the tax is for.'},
    {name: 'tax_rate', type: 'decimal', comment: 'Rate of the tax.'},
    {name: 'agency', type: 'text', comment: 'Whom the tax is paid to.'},
    {name: 'active', type: 'boolean', comment: 'False once the tax is out of use.'},
    {name: 'created_at', type: 'instant', comment: 'When the tax was created at the service.'},
    {name: 'updated_at', type: 'instant', comment: 'When the tax was last touched at the service.'},
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the tax deleted.'},
  ],
});
