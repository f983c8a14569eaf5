// The page of accounts and of the keys of the console and the HTTP API, with its actions.

import {html, type SafeHtml} from '@remix-run/html-template';
import {z} from 'zod';
import {
  type ApiKey,
  type AuditEntry,
  addApiKey,
  checkKeyRights,
  describeRights,
  listApiKeys,
  listAudit,
  revokeApiKey,
} from '../accounts/access.ts';
import {
  type Account,
  listRecoveryCommands,
  pauseAccount,
  resumeAccount,
  toServiceAddress,
} from '../accounts/accounts.ts';
import {listWorkers, type Worker} from '../accounts/workers.ts';
import {UsageError} from '../core/errors.ts';
import {checkShortName, defaultSystem, roles} from '../core/names.ts';
import {findSeenAccount} from './access.ts';
import {defineAction, definePage, may, nameOfAccount, type PageContext} from './page.ts';
import {
  renderForm,
  renderMark,
  renderProse,
  renderSmall,
  renderState,
  renderTable,
  renderTime,
} from './render.ts';

interface Story {
  readonly accounts: readonly Account[];
  readonly workers: readonly Worker[];
  /**
   * Keys of the accounts that the viewer may see; keys for all accounts only if the viewer sees
   * all.
   */
  readonly keys: readonly ApiKey[];
  readonly audit: readonly AuditEntry[];
}

const entryLimit = 50;

export const accountsPage = definePage<Story>({
  path: '/accounts',
  section: '/accounts',
  moving: ['accounts'],
  read: async ({db, seen, accounts, seesAll}) => {
    const accountIds = seen.map(({accountId}) => accountId);
    const keys = await listApiKeys(db);
    return {
      accounts,
      workers: (await listWorkers(db)).filter(({isAlive}) => isAlive),
      keys: seesAll
        ? keys
        : keys.filter(({accountId}) => accountId !== null && accountIds.includes(accountId)),
      audit: await listAudit(db, {accountIds: seesAll ? null : accountIds, limit: entryLimit}),
    };
  },
  title: () => 'Accounts',
  render: (story, context) => html`
    ${renderAccounts(story, context)}
    ${renderAddAccountForm(context)}
    <h2>Keys</h2>
    ${renderKeys(story.keys, context)}
    ${renderAddKeyForm(context)}
    <h2>What was done in the console</h2>
    ${renderAudit(story.audit, context)}`,
  elsewhere: () => ({
    command: 'fieldmirror accounts list\nfieldmirror keys list',
    sql: [
      'SELECT name, api_url, time_zone, state, state_reason FROM sync.accounts;',
      'SELECT * FROM sync.audit ORDER BY audit_id DESC LIMIT 50;',
    ].join('\n'),
  }),
});

function renderAccounts({accounts, workers}: Story, context: PageContext): SafeHtml {
  return renderTable({
    isStacked: true,
    caption: 'Accounts that are mirrored here',
    columns: ['account', 'state', 'at', 'zone', 'token', 'served by', 'steps'],
    rows: accounts.map((account) => [
      account.name,
      html`${renderState(account.state)}${renderSmall(account.stateReason)}`,
      toServiceAddress(account.apiUrl),
      account.timeZone,
      account.keyId === null ? 'of a worker’s environment' : `sealed with key ${account.keyId}`,
      renderServingWorkers(account, workers),
      renderSteps(account, context),
    ]),
    none: 'No account is mirrored yet.',
  });
}

function renderServingWorkers(
  {accountId, state}: Account,
  workers: readonly Worker[],
): SafeHtml | string {
  const servingWorkers = workers.filter(({accountIds}) => accountIds.includes(accountId));
  if (servingWorkers.length > 0)
    return servingWorkers.map(({host, pid}) => `${host}, pid ${pid}`).join('; ');
  return state === 'active' ? renderMark('bad', 'no worker') : '';
}

function renderSteps(account: Account, context: PageContext): SafeHtml {
  const makePath = (step: string) => `/accounts/${encodeURIComponent(account.name)}/${step}`;
  const recoveryCommands = listRecoveryCommands(account).map(
    ([command, purpose]) => html`<br><small>fieldmirror ${command} ${purpose}</small>`,
  );
  return html`${renderForm(context, {to: makePath('check'), role: 'operator', label: 'Check'})} ${
    account.state === 'active'
      ? renderForm(context, {
          to: makePath('pause'),
          role: 'operator',
          label: 'Pause',
          fields: html`<label>Reason <input name="reason" maxlength="500" size="12"></label>`,
        })
      : account.state === 'paused'
        ? renderForm(context, {to: makePath('resume'), role: 'operator', label: 'Resume'})
        : recoveryCommands
  }`;
}

function renderAddAccountForm(context: PageContext): SafeHtml | string {
  if (!may(context, 'admin')) return '';
  return html`<details><summary>Add an account, or give one a new token</summary>
    <p>The token is tried at the service before it is stored,
      sealed with the first key of FIELDMIRROR_KEY.</p>
    ${renderForm(context, {
      to: '/accounts/add',
      role: 'admin',
      label: 'Try and keep',
      fields: html`<label>Name <input name="name" required maxlength="100"></label>
        <label>Address
          <input name="url" type="url" placeholder="https://app.example.com/acme"></label>
        <label>Zone <input name="timeZone" placeholder="America/New_York"></label>
        <label>API token <input name="token" type="password" required autocomplete="off"></label>`,
    })}</details>`;
}

function renderKeys(keys: readonly ApiKey[], context: PageContext): SafeHtml {
  return renderTable({
    isStacked: true,
    caption: 'Keys of the console and the HTTP API',
    columns: ['key', 'account', 'role', 'system', 'made by', 'last used', 'steps'],
    rows: keys.map(({name, lastUsedAt, revokedAt, ...key}) => [
      name,
      key.account ?? 'all',
      describeRights(key),
      key.system,
      key.createdBy,
      renderTime(lastUsedAt, context),
      revokedAt === null
        ? renderForm(context, {
            to: `/keys/${encodeURIComponent(name)}/revoke`,
            role: 'admin',
            label: 'Revoke',
            isGrave: true,
          })
        : html`revoked ${renderTime(revokedAt, context)}`,
    ]),
    none: 'There is no key yet.',
  });
}

function renderAddKeyForm(context: PageContext): SafeHtml | string {
  if (!may(context, 'admin')) return '';
  return html`<details><summary>Make a key</summary>${renderForm(context, {
    to: '/keys/add',
    role: 'admin',
    label: 'Make it',
    fields: html`<label>Name <input name="name" required maxlength="50"></label>
      <label>Role <select name="role">${roles.map(
        (role) => html`<option>${role}</option>`,
      )}</select></label>
      <label>Account <select name="account">
        <option value="">all: console alone</option>${context.seen.map(
          ({name}) => html`<option>${name}</option>`,
        )}</select></label>
      <label>Outside system <input name="system" maxlength="50" placeholder="${
        defaultSystem
      }"></label>
      ${renderYesNoField('holdsDeletes', 'Hold its deletes')}
      ${renderYesNoField('masks', 'Hide personal data')}`,
  })}</details>`;
}

function renderYesNoField(name: string, label: string): SafeHtml {
  return html`<label>${label} <select name="${name}">
    <option value="">no</option><option value="yes">yes</option></select></label>`;
}

function renderAudit(audit: readonly AuditEntry[], context: PageContext): SafeHtml {
  return renderTable({
    caption: 'Actions in the console, the newest first',
    columns: ['when', 'who', 'did', 'to', 'account', 'from'],
    rows: audit.map(({at, name, role, action, subject, accountId, address}) => [
      renderTime(at, context),
      `${name}, ${role}`,
      action,
      renderProse(subject, context),
      nameOfAccount(context, accountId),
      address,
    ]),
    none: 'Nothing was done yet.',
  });
}

export const pauseAccountAction = defineAction({
  path: '/accounts/:account/pause',
  name: 'accounts.pause',
  role: 'operator',
  form: z.object({reason: z.string().trim().max(500).default('')}),
  act: async (db, {viewer, seen, params, fields}) => {
    const account = findSeenAccount(seen, params.account);
    const reason = fields.reason === '' ? `paused by ${viewer.name}` : fields.reason;
    await pauseAccount(db, account.accountId, reason);
    return {
      subject: `account ${account.name}`,
      accountId: account.accountId,
      before: {state: account.state},
      after: {state: 'paused', reason},
      message: `Account ${account.name} is paused: nothing more of it is begun.`,
    };
  },
});

export const resumeAccountAction = defineAction({
  path: '/accounts/:account/resume',
  name: 'accounts.resume',
  role: 'operator',
  form: z.object({}),
  act: async (db, {seen, params}) => {
    const account = findSeenAccount(seen, params.account);
    await resumeAccount(db, account.accountId);
    return {
      subject: `account ${account.name}`,
      accountId: account.accountId,
      before: {state: account.state, reason: account.stateReason},
      after: {state: 'active'},
      message: `Account ${account.name} is active again.`,
    };
  },
});

/**
 * Checks an account at the service; if the check succeeds, a stopped account becomes active again.
 */
export const checkAccountAction = defineAction({
  path: '/accounts/:account/check',
  name: 'accounts.check',
  role: 'operator',
  form: z.object({}),
  prepare: async ({seen, params, services}) =>
    await services.checkAccount(findSeenAccount(seen, params.account).name),
  act: async (_db, {seen, params}, message) => {
    const {name, accountId} = findSeenAccount(seen, params.account);
    return {subject: `account ${name}`, accountId, after: {found: message}, message};
  },
});

const textField = z.string().trim();
const optionalTextField = textField
  .transform((value) => (value === '' ? null : value))
  .default(null);

/**
 * Adds an account, or gives one a new token. The token is tried before it is stored, and is in no
 * answer and no entry.
 */
export const addAccount = defineAction({
  path: '/accounts/add',
  name: 'accounts.add',
  role: 'admin',
  form: z.object({
    name: textField,
    url: optionalTextField,
    timeZone: optionalTextField,
    token: textField,
  }),
  prepare: async ({fields, services}) => {
    if (fields.token === '') throw new UsageError('API token: expected one, got nothing');
    return await services.tryAccount(fields);
  },
  act: async (db, _request, {keep: save, describe}) => {
    const account = await save(db);
    const {name, accountId, apiUrl, timeZone} = account;
    return {
      subject: `account ${name}`,
      accountId,
      after: {name, apiUrl, timeZone},
      message: `${describe(account)}.`,
    };
  },
});

const yesNoField = z
  .enum(['', 'yes'])
  .default('')
  .transform((value) => value === 'yes');

/** The key itself is in one answer alone. */
export const addKey = defineAction({
  path: '/keys/add',
  name: 'keys.add',
  role: 'admin',
  form: z.object({
    name: z.string().trim(),
    role: z.enum(roles),
    account: z.string().default(''),
    system: z.string().trim().default(''),
    holdsDeletes: yesNoField,
    masks: yesNoField,
  }),
  act: async (db, {seen, fields: {name, account, ...fields}}) => {
    checkShortName(name, 'name');
    const rights = {...fields, system: fields.system === '' ? defaultSystem : fields.system};
    checkShortName(rights.system, 'outside system');
    checkKeyRights(rights);
    if (rights.role === 'admin' && account !== '')
      throw new UsageError(
        `account: expected all of them, got ${account}: an admin manages all accounts`,
      );
    const accountId = account === '' ? null : findSeenAccount(seen, account).accountId;
    const key = await addApiKey(db, {name, accountId, ...rights});
    if (key === null) throw new UsageError(`there is a key ${name} already, in use or revoked`);
    const {role} = rights;
    return {
      subject: `key ${name}`,
      accountId,
      after: rights,
      message: `This is the key ${name}, for a ${role}.`,
      once: key.reveal(),
      dropsReadings: true,
      to: '/accounts',
    };
  },
});

export const revokeKey = defineAction({
  path: '/keys/:key/revoke',
  name: 'keys.revoke',
  role: 'admin',
  form: z.object({}),
  act: async (db, {params: {key = ''}}) => {
    if (!(await revokeApiKey(db, key))) throw new UsageError(`no key ${key} is in use`);
    return {
      subject: `key ${key}`,
      accountId: null,
      after: {state: 'revoked'},
      message: `Key ${key} is revoked, and its sessions are over.`,
    };
  },
});
