import {mirrorTable} from './mirror-table.ts';

/**
 * People to talk to at a customer. No recording shows one: other fields are in `extra`
 * (docs/service.md "Fields").
 */
export const contacts = mirrorTable('contacts', {
  comment: 'People to talk to at a customer.',
  key: ['id'],
  indexes: [['customer_number']],
  columns: [
    {name: 'id', type: 'integer', comment: 'Internal key.'},
    {name: 'customer_number', type: 'integer', comment: 'The customer: customers.customer_number.'},
    {name: 'customer_id', type: 'integer', comment: 'The customer: customers.id.'},
    {name: 'name', type: 'text', comment: 'Display name.'},
    {name: 'first_name', type: 'text', comment: 'First name.'},
    {name: 'last_name', type: 'text', comment: 'Last name.'},
    {name: 'title', type: 'text', comment: 'Role of the person at the customer.'},
    {name: 'phone_number', type: 'text', comment: 'First phone number.'},
    {name: 'alt_phone_number', type: 'text', comment: 'Second phone number.'},
    {name: 'mobile', type: 'text', comment: 'Mobile phone number.'},
    {name: 'fax', type: 'text', comment: 'Fax number.'},
    {name: 'email_address', type: 'text', comment: 'E-mail address.'},
    {name: 'primary', type: 'boolean', comment: 'True for the person to ask first.'},
    {name: 'created_at', type: 'instant', comment: 'When the contact was created at the service.'},
    {
      name: 'updated_at',
      type: 'instant',
      comment: 'When the contact was last touched at the service.',
    },
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the contact deleted.'},
  ],
});
