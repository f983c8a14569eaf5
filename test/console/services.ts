// Every action of the console: where its button is, and what makes it possible.

import {inSweepTransaction} from '../../src/postgres/database.ts';
import type {ChangesPlace} from './changes-place.ts';

/** How each action is done: on which page, what is filled in, which button. */
export interface Doing {
  readonly action: string;
  readonly prepare?: () => Promise<string>;
  /** `$` stands for what was prepared. */
  readonly path: string;
  readonly opens?: string;
  /** The label of a choice. */
  readonly ticks?: string;
  readonly fill?: Readonly<Record<string, string>>;
  /** An option for each list, by its label. */
  readonly picks?: Readonly<Record<string, string>>;
  /** The button of the form that leads to the one of the action. */
  readonly through?: string;
  readonly button: string;
}

/** @param place - as it is when an action is done */
export function listDoings(place: () => ChangesPlace): readonly Doing[] {
  /** An earlier doing may have left a change of the same record that is open. */
  const done = `state = 'done', settled_at = now(), waits_for = NULL`;
  const held = async (state: string) => {
    const id = await place().edit(3, `phone_number = '${Math.random()}'`);
    await place().set(id, state);
    return id;
  };

  return [
    {action: 'sweeps.request', path: '/sweeps', button: 'employees'},
    {
      action: 'sweeps.approve',
      prepare: async () => {
        const {rows} = await place().pool.query(
          `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at,
            ended_at, reasons)
         VALUES ($1, 'customers', 'full', 'schedule', 'stopped', now(), now(), '{"too many"}')
           RETURNING sweep_id`,
          [place().account.accountId],
        );
        return rows[0].sweep_id;
      },
      path: '/sweeps/$',
      button: 'Mark 0 rows as deleted',
    },
    {
      action: 'changes.hold',
      prepare: () => held(`state = 'pending'`),
      path: '/changes/$',
      button: 'Hold',
    },
    {
      action: 'changes.release',
      prepare: () => held(`state = 'held'`),
      path: '/changes/$',
      button: 'Release',
    },
    {
      action: 'changes.cancel',
      prepare: () => held(`state = 'held'`),
      path: '/changes/$',
      button: 'Give up',
    },
    {
      action: 'changes.retry',
      prepare: () => held(`state = 'rejected', settled_at = now(), reason = '422: no'`),
      path: '/changes/$',
      button: 'Try again',
    },
    {
      action: 'changes.accept',
      prepare: async () => {
        const id = await held(done);
        await place().pool.query(
          `INSERT INTO sync.alterations (change_id, account_id, field, kind, sent, got, is_stop)
           SELECT change_id, account_id, 'phone_number', 'customers.phone_number', '"1"', '"2"',
             true FROM sync.changes WHERE change_id = $1`,
          [id],
        );
        return id;
      },
      path: '/changes/$',
      button: 'Accept',
    },
    {
      action: 'changes.resolve',
      prepare: async () => {
        const id = await place().edit(3, `phone_number = '${Math.random()}'`);
        await place().putInConflict(id, {phone_number: '5'});
        return id;
      },
      path: '/changes/$',
      ticks: 'theirs, of the service',
      button: 'Decide',
    },
    {
      action: 'changes.decide',
      prepare: () => held(`state = 'pending'`),
      path: '/changes/preview?choice=hold&state=pending&all=yes',
      button: 'Hold:',
    },
    {
      action: 'changes.undo',
      prepare: () => held(done),
      path: '/changes/undo?c$=on',
      button: 'Take back 1 change',
    },
    {action: 'records.fetch', path: '/records/jobs/11?account=acme', button: 'Fetch again'},
    {
      action: 'customers.forget',
      path: '/records/customers/1/forget?account=other',
      fill: {'Its number, typed back': '1'},
      button: 'Forget customer 1',
    },
    {
      action: 'links.match',
      prepare: async () => {
        await inSweepTransaction(place().pool, async (client) => {
          await client.query(
            `INSERT INTO warehouse.customers (account_id, customer_number, name, phone_number,
               _sweep_id)
             VALUES ($1, 77, 'Ada Thornholt', '5035550142', 1)`,
            [place().account.accountId],
          );
        });
        return '';
      },
      path: '/match?account=acme',
      fill: {
        'Outside system': 'tryton',
        'or its lines, with the columns key, name, phone, mobile, email, street, city, zip':
          'key,name,phone\nP-1,Ada Thornholt,503 555 0142',
      },
      through: 'Compare',
      button: 'Link what is chosen',
    },
    {action: 'links.undo', path: '/match?account=acme', button: 'Take back'},
    {
      action: 'fields.name',
      path: '/fields?table=jobs&field=custom_text1&account=acme',
      fill: {'Name in mart.jobs': 'gate_code'},
      button: 'Give it this name',
    },
    {action: 'accounts.check', path: '/accounts?account=acme', button: 'Check'},
    {
      action: 'accounts.pause',
      path: '/accounts?account=acme',
      fill: {Reason: 'holidays'},
      button: 'Pause',
    },
    {action: 'accounts.resume', path: '/accounts?account=acme', button: 'Resume'},
    {
      action: 'keys.add',
      path: '/accounts',
      opens: 'Make a key',
      fill: {Name: 'dana', 'Outside system': 'tryton'},
      picks: {Role: 'operator', 'Hold its deletes': 'yes'},
      button: 'Make it',
    },
    {
      action: 'accounts.add',
      path: '/accounts',
      opens: 'Add an account, or give one a new token',
      fill: {
        Name: 'north',
        Address: 'https://example.com/north',
        Zone: 'America/Chicago',
        'API token': 'made-up',
      },
      button: 'Try and keep',
    },
    {action: 'keys.revoke', path: '/accounts', button: 'Revoke'},
    {action: 'quarantine.retry', path: '/quarantine', button: 'Try again'},
    {
      action: 'alerts.add',
      path: '/alerts',
      opens: 'Add a rule',
      fill: {Name: 'phone', Address: 'ops@example.com'},
      button: 'Make the rule',
    },
    {
      action: 'settings.save',
      path: '/settings?account=acme',
      fill: {Currency: 'eur', Monday: '8', Friday: '6.5'},
      button: 'Save',
    },
    {
      action: 'settings.close-day',
      path: '/settings?account=acme',
      fill: {Day: '2026-12-25', Why: 'Christmas'},
      button: 'Add a closed day',
    },
    {action: 'settings.open-day', path: '/settings?account=acme', button: 'Remove'},
    {
      action: 'settings.capacity',
      path: '/settings?account=acme',
      fill: {'Number of the technician': '1', 'Hours on Monday': '4'},
      button: 'Set the hours of one',
    },
    {
      action: 'settings.label',
      path: '/settings?account=acme',
      fill: {Number: '7', Name: 'Radio'},
      picks: {What: 'customer_source'},
      button: 'Name another',
    },
    {action: 'alerts.test', path: '/alerts', button: 'Test'},
    {action: 'alerts.remove', path: '/alerts', button: 'Remove'},
    // What the subscriber did not take is passed over before it is sent again: then nothing is left
    // to pass over.
    {action: 'hooks.skip', path: '/alerts', button: 'Pass over'},
    {
      action: 'hooks.retry',
      prepare: async () => {
        await place().pool.query(
          `UPDATE sync.feed_hooks SET failing_since = now(), attempts = 1, last_error = '503'`,
        );
        return '';
      },
      path: '/alerts',
      button: 'Send again',
    },
    {
      action: 'hooks.retry',
      path: '/alerts',
      opens: 'Start elsewhere',
      fill: {'Cursor, or end for new entries only': 'end'},
      button: 'Send from there',
    },
    {action: 'hooks.retry-letter', path: '/alerts', button: 'Send now'},
    {action: 'hooks.skip-letter', path: '/alerts', button: 'Drop'},
  ];
}
