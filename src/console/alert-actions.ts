import {z} from 'zod';
import {deleteRule, insertRule} from '../alerts/alert-rules.ts';
import {receivers} from '../alerts/receivers.ts';
import {UsageError} from '../core/errors.ts';
import {defineAction} from './action.ts';
import {findSeen} from './find-seen.ts';
import {notThere} from './refused.ts';

const text = z.string().trim();
const optional = text.transform((given) => (given === '' ? null : given)).default(null);
/** A box that is ticked alone comes as a text, several as a list. */
const words = z.union([z.array(z.string()), z.string().transform((word) => [word])]).default([]);

/** Makes a rule; its address is sealed before the transaction, and is in no answer and no entry. */
export const addRule = defineAction({
  path: '/alerts/add',
  name: 'alerts.add',
  role: 'admin',
  form: z.object({
    name: text,
    receiver: z.enum(receivers),
    address: text,
    smtp: optional,
    every: optional,
    quiet: optional,
    account: z.string().default(''),
    causes: words,
  }),
  prepare: async ({given, doings}) => await doings.planRule(given),
  act: async (db, {seen, given: {account}}, {plan, secret}) => {
    const accountId = account === '' ? null : findSeen(seen, account).accountId;
    const {name, receiver, target, causes, quietMs, everyMs} = plan;
    if (!(await insertRule(db, {...plan, accountId})))
      throw new UsageError(`there is an alert rule ${name} already; remove it first`);
    return {
      subject: `alert rule ${name}`,
      accountId,
      after: {receiver, target, causes, quietMs, everyMs},
      said:
        secret === null
          ? `${name} tells ${target} by ${receiver}; test it to see whether it arrives.`
          : `${name} tells ${target}. This signs each message (Standard Webhooks):`,
      to: '/alerts',
      ...(secret === null ? {} : {once: secret}),
    };
  },
});

/** Sends a made-up alert, and tells the receiver's answer. */
export const testRule = defineAction({
  path: '/alerts/:rule/test',
  name: 'alerts.test',
  role: 'admin',
  form: z.object({}),
  prepare: async ({params, doings}) => await doings.testRule(params.rule ?? ''),
  act: async (_db, {params}, answer) => ({
    subject: `alert rule ${params.rule}`,
    accountId: null,
    after: {answer},
    said: answer,
  }),
});

export const removeRule = defineAction({
  path: '/alerts/:rule/remove',
  name: 'alerts.remove',
  role: 'admin',
  form: z.object({}),
  act: async (db, {params: {rule = ''}}) => {
    if (!(await deleteRule(db, rule))) throw notThere(`alert rule ${JSON.stringify(rule)}`);
    return {
      subject: `alert rule ${rule}`,
      accountId: null,
      after: {state: 'removed'},
      said: `${rule} tells nobody any more.`,
    };
  },
});
