// The verb `alerts`: rules that decide who receives which alerts. A rule is checked before the
// warehouse is opened.

import {randomUUID} from 'node:crypto';
import {
  type Alert,
  type AlertRule,
  deleteRule,
  describeAddressStep,
  giveRuleAccess,
  insertRule,
  listRules,
  type Receiver,
  type RulePlan,
  readSealedAccess,
  usualEveryMs,
  usualQuietMs,
} from '../alerts/alerts.ts';
import {
  type AlertOverview,
  describeRuleScope,
  type RuleStatus,
  readAlertOverview,
} from '../alerts/deliveries.ts';
import {sendMessage} from '../alerts/send.ts';
import type {Config} from '../core/config.ts';
import {type Cause, causes, receivers, seeDocs, UsageError} from '../core/errors.ts';
import {formatAgo, formatDuration} from '../core/format.ts';
import {checkShortName, isMailbox, nearest} from '../core/names.ts';
import type {Sealed} from '../core/secret.ts';
import {inTone} from '../core/text.ts';
import {
  type Access,
  expectSealingKey,
  makeWebhookSecret,
  parseSmtp,
  parseTarget,
  sealAccess,
} from '../feed/receivers.ts';
import type {Queryable} from '../postgres/database.ts';
import {chooseAccount} from './accounts.ts';
import {fitTable, type OutputOptions, print, readSecret, wrap} from './terminal.ts';
import {withWarehouse} from './warehouse.ts';

/**
 * Creates a rule, or stores the address of a rule that a file of settings has created. Within a
 * minute a worker reports the problems that exist already.
 * @throws {UsageError} an invalid receiver, cause or account, no key to seal with, a name that is
 *   taken
 */
export async function alertsAdd(
  config: Config,
  name: string,
  {account, json, ...options}: OutputOptions & RuleOptions & {readonly account?: string},
): Promise<number> {
  const {plan, secret} = planRule(config, name, await readSecretAddress(name, options));
  return await withWarehouse(config, {migrates: true}, async ({pool}) => {
    const chosen = account === undefined ? null : await chooseAccount({pool}, account);
    const storedRule = (await listRules(pool)).find((each) => each.name === name);
    const isStored =
      storedRule?.hasAddress === false
        ? await giveRuleAccess(pool, completeRule(storedRule, plan, {...options, account}))
        : await insertRule(pool, {...plan, accountId: chosen?.accountId ?? null});
    if (!isStored)
      throw new UsageError(
        `alerts add: there is a rule ${name} already; fieldmirror alerts remove ${name}`,
      );
    const {receiver, target} = plan;
    const lines = [
      `${name} reports to ${target} by ${receiver}; ` +
        `to see whether it arrives: fieldmirror alerts test ${name}`,
      ...(secret === null
        ? []
        : ['', secret, '', 'It signs each message (Standard Webhooks), and is shown this once.']),
      ...(receiver === 'email' && plan.sealed === null && config.smtpUrl === null
        ? ['start needs FIELDMIRROR_SMTP_URL to send it']
        : []),
    ];
    print(json, {
      json: {name, receiver, target, account: chosen?.name ?? storedRule?.account ?? null, secret},
      text: lines.join('\n'),
    });
    return 0;
  });
}

const addressOptions = ['webhook', 'slack', 'ping', 'smtp'] as const;

/**
 * An address that was given as `-` is read as a secret: every user of the machine sees the
 * arguments of a verb.
 */
async function readSecretAddress(name: string, options: RuleOptions): Promise<RuleOptions> {
  const option = addressOptions.find((each) => options[each] === '-');
  if (option === undefined) return options;
  const message = `alerts add: --${option}: expected the address on standard input, got nothing`;
  const address = await readSecret(`--${option} of ${name} (it is not shown): `, message);
  return {...options, [option]: address.reveal()};
}

/** Lists the rules with the state of their messages, and the open alerts. */
export async function alertsList(config: Config, {json}: OutputOptions): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const overview = await readAlertOverview(pool);
    print(json, {json: overview, text: formatAlerts(overview)});
    return 0;
  });
}

/** The verb `alerts test`: see `testRule`. */
export async function test(
  config: Config,
  name: string,
  {json, signal}: OutputOptions & {readonly signal: AbortSignal},
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const {target, answer, ms} = await alertsTest(config, pool, {name, signal});
    print(json, {json: {name, answer, ms}, text: `${target} took it: ${answer}, in ${ms} ms`});
    return 0;
  });
}

/** The receiver's answer to a test, for a person. */
interface TestedRule {
  readonly target: string;
  readonly answer: string;
  readonly ms: number;
}

/**
 * Sends a made-up alert by a rule now, once, and returns the receiver's answer.
 * @throws {RetryableError} the receiver does not accept it
 * @throws {UsageError} there is no such rule, or this process lacks the key or the mail server
 */
export async function alertsTest(
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
      `alerts test: expected a rule with an address, got ${name}, which waits for it: ` +
        `${describeAddressStep(name, rule.receiver)}`,
    );
  const sealed = await readSealedAccess(db, rule.ruleId);
  const startMs = performance.now();
  const answer = await sendMessage(
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
  return {target: rule.target, answer, ms: Math.round(performance.now() - startMs)};
}

/** Removes a rule: it sends nothing from now on. @throws {UsageError} no rule has that name */
export async function alertsRemove(
  config: Config,
  name: string,
  {json}: OutputOptions,
): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    await findRule(pool, name, 'remove');
    await deleteRule(pool, name);
    print(json, {json: {name}, text: `${name} no longer reports to anyone`});
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

/** The text of `alerts list`: a table of rules, then the open alerts. */
function formatAlerts({rules, open, uncheckedSince}: AlertOverview): string {
  if (rules.length === 0)
    return (
      'no one is notified of problems: fieldmirror alerts add NAME --email ADDRESS, ' +
      'or --webhook, --slack, --ping'
    );
  const columnTitles = ['rule', 'reports to', 'by', 'of', 'last sent', 'waiting', 'quiet'];
  const failing = rules.flatMap(({name, hasAddress, failingSince, lastError}) =>
    failingSince === null || !hasAddress
      ? []
      : [
          wrap(
            `${name} does not arrive, ${formatAgo(failingSince)}: ` +
              (lastError ?? 'no worker sends it'),
          ),
        ],
  );
  const waiting = rules.flatMap(({name, receiver, hasAddress}) =>
    hasAddress
      ? []
      : [wrap(`${name} waits for its address: ${describeAddressStep(name, receiver)}`)],
  );
  return [
    fitTable(columnTitles, rules.map(describeRule)),
    ...failing,
    ...waiting,
    '',
    ...(uncheckedSince === null
      ? []
      : [
          inTone(
            `The last check was ${formatAgo(uncheckedSince)}: no worker is alive; ` +
              'fieldmirror status checks now.',
            'bad',
          ),
        ]),
    ...(uncheckedSince === null || open.length > 0 ? [formatOpenAlerts(open)] : []),
  ].join('\n');
}

function describeRule(rule: RuleStatus): (string | number)[] {
  const {name, target, receiver} = rule;
  return [
    name,
    target,
    rule.everyMs === null ? receiver : `${receiver}, every ${formatDuration(rule.everyMs)}`,
    describeRuleScope(rule),
    rule.lastSentAt === null ? 'never' : formatAgo(rule.lastSentAt),
    rule.waiting,
    rule.everyMs === null ? formatDuration(rule.quietMs) : '',
  ];
}

function formatOpenAlerts(openAlerts: readonly Alert[]): string {
  if (openAlerts.length === 0) return inTone('Nothing is wrong that a rule reports.', 'good');
  const lines = openAlerts.flatMap(({cause, account, stream, text, nextStep, openedAt}) => {
    const place = [account, stream].filter((name) => name !== null).join(', ');
    return [
      wrap(
        `  ${place === '' ? '' : `${place}: `}${text} ` +
          `(found ${formatAgo(openedAt)}; ${seeDocs(cause)})`,
      ),
      ...(nextStep === null ? [] : [wrap(`    ${nextStep}`)]),
    ];
  });
  return [inTone('Open now:', 'bad'), ...lines].join('\n');
}

export interface RuleOptions {
  readonly webhook?: string;
  readonly slack?: string;
  readonly email?: string;
  readonly ping?: string;
  /** The mail server of this rule alone. */
  readonly smtp?: string;
  readonly everyMs?: number;
  readonly quietMs?: number;
  readonly cause?: readonly string[];
}

/** A rule that can be stored, and the secret that is printed only this once. */
export interface PlannedRule {
  readonly plan: Omit<RulePlan, 'accountId'>;
  readonly secret: string | null;
}

/**
 * Builds a rule from the options that were typed.
 * @throws {UsageError} not exactly one receiver, an address that is not allowed, an unknown cause,
 *   no key to seal with
 */
export function planRule(
  {keys, allowsHttp}: Pick<Config, 'keys' | 'allowsHttp'>,
  name: string,
  options: RuleOptions,
): PlannedRule {
  checkShortName(name, 'alerts add');
  const {receiver, address} = chooseReceiver(options);
  const access = readAccess(receiver, address, {smtp: options.smtp, allowsHttp});
  const key = access === null ? null : expectSealingKey(keys, 'alerts add', 'receiver');
  if (options.everyMs !== undefined && receiver !== 'ping')
    throw new UsageError(
      'alerts add: --every: expected it with --ping, which alone comes by the clock',
    );
  const plan = {
    name,
    receiver,
    target: receiver === 'email' ? address : new URL(address).host,
    sealed:
      access === null || key === null ? null : sealAccess(access, key, {kind: 'alert_rules', name}),
    causes: readCauses(options.cause ?? []),
    quietMs: options.quietMs ?? usualQuietMs,
    everyMs: receiver === 'ping' ? (options.everyMs ?? usualEveryMs) : null,
  };
  return {plan, secret: access?.secret ?? null};
}

function chooseReceiver(options: RuleOptions): {
  readonly receiver: Receiver;
  readonly address: string;
} {
  const typedReceivers = receivers.flatMap((receiver) => {
    const address = options[receiver];
    return address === undefined ? [] : [{receiver, address}];
  });
  const [only, ...others] = typedReceivers;
  if (only !== undefined && others.length === 0) return only;
  const got = typedReceivers.map(({receiver}) => `--${receiver}`).join(' and ');
  throw new UsageError(
    'alerts add: expected one of --webhook URL, --slack URL, --email ADDRESS, --ping URL, ' +
      `got ${got === '' ? 'none' : got}`,
  );
}

/** @returns null if the environment gives the mail server: there is nothing to seal */
function readAccess(
  receiver: Receiver,
  address: string,
  {smtp, allowsHttp}: {readonly smtp: string | undefined; readonly allowsHttp: boolean},
): Access | null {
  if (receiver === 'email') {
    if (!isMailbox(address))
      throw new UsageError(
        'alerts add: --email: expected an address such as ops@example.com, ' +
          `got ${JSON.stringify(address)}`,
      );
    if (smtp === undefined) return null;
    parseSmtp(smtp, allowsHttp);
    return {address: smtp};
  }
  if (smtp !== undefined) throw new UsageError('alerts add: --smtp: expected it with --email');
  parseTarget(address, allowsHttp);
  return receiver === 'webhook' ? {address, secret: makeWebhookSecret()} : {address};
}

function readCauses(words: readonly string[]): readonly Cause[] | null {
  if (words.length === 0) return null;
  return words.map((word) => {
    const cause = causes.find((each) => each === word);
    if (cause !== undefined) return cause;
    throw new UsageError(
      `alerts add: --cause: no cause "${word}"${nearest(word, causes)}; ` +
        `there are ${causes.join(', ')}`,
    );
  });
}

// The address of a rule that a file of settings has created, and nothing else.

interface CompletedRule {
  readonly name: string;
  readonly target: string;
  readonly sealed: Sealed;
}

/**
 * Selects from the options the address that a rule waits for.
 * @throws {UsageError} another receiver or e-mail address, no mail server, or further settings:
 *   they would be lost silently, because the file has them
 */
function completeRule(
  {name, receiver, target}: Pick<AlertRule, 'name' | 'receiver' | 'target'>,
  plan: PlannedRule['plan'],
  {cause, everyMs, quietMs, account}: RuleOptions & {readonly account: string | undefined},
): CompletedRule {
  const {sealed} = plan;
  const expected =
    receiver === 'email'
      ? 'a server of e-mail for the address that it has'
      : `an address for ${receiver}`;
  if (
    plan.receiver !== receiver ||
    sealed === null ||
    (receiver === 'email' && plan.target !== target)
  )
    throw new UsageError(
      `alerts add: expected what ${name} waits for, ${expected}, got something else: ` +
        describeAddressStep(name, receiver),
    );
  const extras = [
    ...((cause ?? []).length > 0 ? ['--cause'] : []),
    ...(everyMs === undefined ? [] : ['--every']),
    ...(quietMs === undefined ? [] : ['--quiet']),
    ...(account === undefined ? [] : ['--account']),
  ];
  if (extras.length === 0) return {name, target: plan.target, sealed};
  throw new UsageError(
    `alerts add: expected the address of ${name} alone, for a file of settings made it and has ` +
      `the rest, got ${extras.join(', ')}; change the file and fieldmirror config apply it, ` +
      `or fieldmirror alerts remove ${name} first`,
  );
}
