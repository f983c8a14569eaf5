import {z} from 'zod';
import {nameField} from '../star/fields.ts';
import {defineAction} from './action.ts';
import {findSeen} from './find-seen.ts';
import {Refused} from './refused.ts';

/**
 * Gives a field without a column a name, under which it is a column of mart, or takes it away where
 * the name is empty.
 */
export const giveFieldName = defineAction({
  path: '/fields/:table/:field/name',
  name: 'fields.name',
  role: 'admin',
  form: z.object({account: z.string(), was: z.string(), name: z.string().trim().max(63)}),
  act: async (db, {seen, params, given}) => {
    const {table = '', field = ''} = params;
    const {accountId, name: account} = findSeen(seen, given.account);
    const [was, name] = [emptyToNull(given.was), emptyToNull(given.name)];
    if (!(await nameField(db, {accountId, table, field, was, name}))) throw moved(table, field);
    return {
      subject: `field ${table}.${field} of account ${account}`,
      accountId,
      before: {promotedAs: was},
      after: {promotedAs: name},
      said:
        name === null
          ? `${field} has lost its name: mart.${table} has no column ${was} any more.`
          : `${field} is now the column ${name} of mart.${table}.`,
    };
  },
});

function emptyToNull(text: string): string | null {
  return text === '' ? null : text;
}

function moved(table: string, field: string): Refused {
  return new Refused(409, {
    title: 'It came too late',
    text: `${field} of ${table} is not known, or somebody has given it another name meanwhile. Nothing was overwritten.`,
    ways: [
      {href: `/fields?${new URLSearchParams({table, field})}`, label: 'Look at it as it is now'},
    ],
  });
}
