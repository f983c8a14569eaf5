import {html, type SafeHtml} from '@remix-run/html-template';
import {type ApiKey, type AuditEntry, listApiKeys, listAudit} from '../accounts/access.ts';
import {type Account, listWaysOn, placeOf} from '../accounts/accounts.ts';
import {roles} from '../accounts/roles.ts';
import {listWorkers, type Worker} from '../accounts/workers.ts';
import {drawForm} from './draw-form.ts';
import {drawMark, drawState} from './draw-mark.ts';
import {drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import {type Look, may, nameOfAccount} from './look.ts';
import {definePage} from './page.ts';

interface Story {
  readonly accounts: readonly Account[];
  readonly workers: readonly Worker[];
  /** Of the accounts that are seen; those for all accounts are told to who sees all. */
  readonly keys: readonly ApiKey[];
  readonly audit: readonly AuditEntry[];
}

const shownEntries = 50;

export const accountsPage = definePage<Story>({
  path: '/accounts',
  section: '/accounts',
  moving: ['accounts'],
  read: async ({db, seen, accounts, seesAll}) => {
    const ids = seen.map(({accountId}) => accountId);
    const keys = await listApiKeys(db);
    return {
      accounts,
      workers: (await listWorkers(db)).filter(({isAlive}) => isAlive),
      keys: seesAll
        ? keys
        : keys.filter(({accountId}) => accountId !== null && ids.includes(accountId)),
      audit: await listAudit(db, {accountIds: seesAll ? null : ids, limit: shownEntries}),
    };
  },
  title: () => 'Accounts',
  draw: (story, look) => html`
    ${drawAccounts(story, look)}
    ${drawAdding(look)}
    <h2>Keys</h2>
    ${drawKeys(story.keys, look)}
    ${drawAddingKey(look)}
    <h2>What was done in the console</h2>
    ${drawAudit(story.audit, look)}`,
  elsewhere: () => ({
    command: 'fieldmirror accounts list\nfieldmirror keys list',
    sql: 'SELECT name, api_url, time_zone, state, state_reason FROM sync.accounts;\nSELECT * FROM sync.audit ORDER BY audit_id DESC LIMIT 50;',
  }),
});

function drawAccounts({accounts, workers}: Story, look: Look): SafeHtml {
  return drawTable({
    caption: 'Accounts that are mirrored here',
    columns: ['account', 'state', 'at', 'zone', 'token', 'served by', 'steps'],
    rows: accounts.map((account) => [
      account.name,
      html`${drawState(account.state)}${account.stateReason === null ? '' : html`<small>${account.stateReason}</small>`}`,
      placeOf(account.apiUrl),
      account.timeZone,
      account.keyId === null ? 'of a worker’s environment' : `sealed with key ${account.keyId}`,
      tellServed(account, workers),
      drawSteps(account, look),
    ]),
    none: 'No account is mirrored yet.',
  });
}

function tellServed({accountId, state}: Account, workers: readonly Worker[]): SafeHtml | string {
  const serving = workers.filter(({accountIds}) => accountIds.includes(accountId));
  if (serving.length > 0) return serving.map(({host, pid}) => `${host}, pid ${pid}`).join('; ');
  return state === 'active' ? drawMark('bad', 'no worker') : '';
}

function drawSteps(account: Account, look: Look): SafeHtml {
  const to = (step: string) => `/accounts/${encodeURIComponent(account.name)}/${step}`;
  const ways = listWaysOn(account).map(
    ([command, does]) => html`<br><small>fieldmirror ${command} ${does}</small>`,
  );
  return html`${drawForm(look, {to: to('check'), role: 'operator', label: 'Check'})} ${
    account.state === 'active'
      ? drawForm(look, {
          to: to('pause'),
          role: 'operator',
          label: 'Pause',
          fields: html`<label>Reason <input name="reason" maxlength="500" size="12"></label>`,
        })
      : account.state === 'paused'
        ? drawForm(look, {to: to('resume'), role: 'operator', label: 'Resume'})
        : ways
  }`;
}

function drawAdding(look: Look): SafeHtml | string {
  if (!may(look, 'admin')) return '';
  return html`<details><summary>Add an account, or give one a new token</summary>
    <p>The token is tried at the service before it is stored, sealed with the first key of FIELDMIRROR_KEY.</p>
    ${drawForm(look, {
      to: '/accounts/add',
      role: 'admin',
      label: 'Try and keep',
      fields: html`<label>Name <input name="name" required maxlength="100"></label>
        <label>Address <input name="url" type="url" placeholder="https://app.example.com/acme"></label>
        <label>Zone <input name="timeZone" placeholder="America/New_York"></label>
        <label>API token <input name="token" type="password" required autocomplete="off"></label>`,
    })}</details>`;
}

function drawKeys(keys: readonly ApiKey[], look: Look): SafeHtml {
  return drawTable({
    caption: 'Keys of the console and the HTTP API',
    columns: ['key', 'account', 'role', 'made by', 'last used', 'steps'],
    rows: keys.map(({name, account, role, masks, createdBy, lastUsedAt, revokedAt}) => [
      name,
      account ?? 'all',
      masks ? `${role}, masked` : role,
      createdBy,
      drawTime(lastUsedAt, look),
      revokedAt === null
        ? drawForm(look, {
            to: `/keys/${encodeURIComponent(name)}/revoke`,
            role: 'admin',
            label: 'Revoke',
            isGrave: true,
          })
        : html`revoked ${drawTime(revokedAt, look)}`,
    ]),
    none: 'There is no key yet.',
  });
}

function drawAddingKey(look: Look): SafeHtml | string {
  if (!may(look, 'admin')) return '';
  return html`<details><summary>Make a key</summary>${drawForm(look, {
    to: '/keys/add',
    role: 'admin',
    label: 'Make it',
    fields: html`<label>Name <input name="name" required maxlength="50"></label>
      <label>Role <select name="role">${roles.map((role) => html`<option>${role}</option>`)}</select></label>
      <label>Account <select name="account"><option value="">all: console alone</option>${look.seen.map(
        ({name}) => html`<option>${name}</option>`,
      )}</select></label>
      <label>Hide personal data <select name="masks"><option value="">no</option><option value="yes">yes</option></select></label>`,
  })}</details>`;
}

function drawAudit(audit: readonly AuditEntry[], look: Look): SafeHtml {
  return drawTable({
    caption: 'Actions in the console, the newest first',
    columns: ['when', 'who', 'did', 'to', 'account', 'from'],
    rows: audit.map(({at, name, role, action, subject, accountId, address}) => [
      drawTime(at, look),
      `${name}, ${role}`,
      action,
      subject,
      nameOfAccount(look, accountId),
      address,
    ]),
    none: 'Nothing was done yet.',
  });
}
