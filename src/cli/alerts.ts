// The verb `alerts`: who is told what is wrong.

import {randomUUID} from 'node:crypto';
import {tellAddressStep} from '../alerts/address-step.ts';
import {readAlertOverview} from '../alerts/alert-overview.ts';
import {
  type AlertRule,
  deleteRule,
  insertRule,
  listRules,
  readSealedAccess,
} from '../alerts/alert-rules.ts';
import {giveRuleAccess} from '../alerts/rule-settings.ts';
import {send} from '../alerts/send-alert.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {nearest} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import {planRule, type RuleOptions} from './alert-rule-plan.ts';
import {chooseAccount} from './choose-account.ts';
import {completeRule} from './complete-alert-rule.ts';
import {drawAlerts} from './draw-alerts.ts';
import {readSecret} from './read-secret.ts';
import {print} from './report.ts';
import {withWarehouse} from './with-warehouse.ts';

interface Output {
  readonly json: boolean;
}

/**
 * Makes a rule, or gives the one that a file of settings has made its address. A worker tells it
 * within a minute what is wrong already.
 * @throws {UsageError} a receiver, cause or account that cannot be, no key to seal with, a name
 *   that is taken
 */
export async function add(
  config: Config,
  name: string,
  {account, json, ...options}: Output & RuleOptions & {readonly account?: string},
): Promise<number> {
  const {plan, secret} = planRule(config, name, await withAddress(name, options));
  return await withWarehouse(config, {migrates: true}, async ({pool}) => {
    const chosen = account === undefined ? null : await chooseAccount({pool}, account);
    const held = (await listRules(pool)).find((each) => each.name === name);
    const isMade =
      held?.hasAddress === false
        ? await giveRuleAccess(pool, completeRule(held, plan, {...options, account}))
        : await insertRule(pool, {...plan, accountId: chosen?.accountId ?? null});
    if (!isMade)
      throw new UsageError(
        `alerts add: there is a rule ${name} already; fieldmirror alerts remove ${name}`,
      );
    const {receiver, target} = plan;
    const lines = [
      `${name} tells ${target} by ${receiver}; to see whether it arrives: fieldmirror alerts test ${name}`,
      ...(secret === null
        ? []
        : ['', secret, '', 'It signs each message (Standard Webhooks), and is shown this once.']),
      ...(receiver === 'email' && plan.sealed === null && config.smtpUrl === null
        ? ['start needs FIELDMIRROR_SMTP_URL to send it']
        : []),
    ];
    print(json, {
      json: {name, receiver, target, account: chosen?.name ?? held?.account ?? null, secret},
      text: lines.join('\n'),
    });
    return 0;
  });
}

const addresses = ['webhook', 'slack', 'ping', 'smtp'] as const;

/**
 * An address that was given as `-` is asked for: every user of the machine sees what is typed
 * behind a verb.
 */
async function withAddress(name: string, options: RuleOptions): Promise<RuleOptions> {
  const asked = addresses.find((each) => options[each] === '-');
  if (asked === undefined) return options;
  const missing = `alerts add: --${asked}: expected the address on standard input, got nothing`;
  const address = await readSecret(`--${asked} of ${name} (it is not shown): `, missing);
  return {...options, [asked]: address.reveal()};
}

/** The rules and how their messages fare, and what is open now. */
export async function list(config: Config, {json}: Output): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const overview = await readAlertOverview(pool);
    print(json, {json: overview, text: drawAlerts(overview)});
    return 0;
  });
}

/** The verb `alerts test`: see `testRule`. */
export async function test(
  config: Config,
  name: string,
  {json, signal}: Output & {readonly signal: AbortSignal},
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const {target, answer, ms} = await testRule(config, pool, {name, signal});
    print(json, {json: {name, answer, ms}, text: `${target} took it: ${answer}, in ${ms} ms`});
    return 0;
  });
}

/** The receiver's answer to a test, for a person. */
export interface TestedRule {
  readonly target: string;
  readonly answer: string;
  readonly ms: number;
}

/**
 * Sends a made-up alert by a rule now, once, and tells the receiver's answer.
 * @throws {RetryableError} the receiver does not take it
 * @throws {UsageError} there is no such rule, or this process has not the key or the server of
 *   e-mail
 */
export async function testRule(
  {
    keys,
    smtpUrl,
    allowsHttp,
    allowsLinkLocal,
  }: Pick<Config, 'keys' | 'smtpUrl' | 'allowsHttp' | 'allowsLinkLocal'>,
  db: Queryable,
  {name, signal}: {readonly name: string; readonly signal?: AbortSignal},
): Promise<TestedRule> {
  const rule = await findRule(db, name, 'test');
  if (!rule.hasAddress)
    throw new UsageError(
      `alerts test: expected a rule with an address, got ${name}, which waits for it: ${tellAddressStep(name, rule.receiver)}`,
    );
  const sealed = await readSealedAccess(db, rule.ruleId);
  const begun = performance.now();
  const answer = await send(
    {
      keys,
      smtpUrl,
      allowsHttp,
      allowsLinkLocal,
      onSecret: () => {},
      ...(signal === undefined ? {} : {signal}),
    },
    {rule: name, receiver: rule.receiver, target: rule.target, sealed},
    rule.receiver === 'ping' ? null : {messageId: randomUUID(), kind: 'test', rule: name, news: []},
  );
  return {target: rule.target, answer, ms: Math.round(performance.now() - begun)};
}

/** From now on nothing is told by the rule. @throws {UsageError} there is none of that name */
export async function remove(config: Config, name: string, {json}: Output): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    await findRule(pool, name, 'remove');
    await deleteRule(pool, name);
    print(json, {json: {name}, text: `${name} tells nobody any more`});
    return 0;
  });
}

async function findRule(db: Queryable, name: string, verb: string): Promise<AlertRule> {
  const rules = await listRules(db);
  const rule = rules.find((each) => each.name === name);
  if (rule !== undefined) return rule;
  const names = rules.map((each) => each.name);
  throw new UsageError(
    `alerts ${verb}: no rule "${name}"${nearest(name, names)}; fieldmirror alerts list`,
  );
}
