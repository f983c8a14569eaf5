import type {Command} from 'commander';
import {config, finish, type Surroundings} from './verb.ts';

const load = () => import('./accounts.ts');
const loadLife = () => import('./accounts-rename-remove.ts');
const loadCheck = () => import('./accounts-check.ts');

export function addAccounts(program: Command, surroundings: Surroundings): void {
  const accounts = program
    .command('accounts')
    .description('look after the accounts that are mirrored');
  addList(accounts, surroundings);
  addAdd(accounts, surroundings);
  addCheck(accounts, surroundings);
  addPauseAndResume(accounts, surroundings);
  addRenameAndRemove(accounts, surroundings);
  addMove(accounts, surroundings);
}

function addList(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('list')
    .description('the accounts, their states, and where their tokens come from')
    .action(() => finish(async () => (await load()).list(await config(), json())));
}

function addAdd(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('add')
    .description(
      'add an account, or give one a new token; the token is asked for, never an argument',
    )
    .argument('<name>', 'what the account is called here')
    .option('--url <address>', "the account's base address: https://app.example.com/acme")
    .option('--time-zone <zone>', "the account's IANA zone: America/New_York")
    .action((name, given) =>
      finish(async () =>
        (await import('./accounts-add.ts')).add(await config({isAdding: true}), name, {
          ...given,
          ...json(),
        }),
      ),
    );
}

function addCheck(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('check')
    .description(
      'ask each account, or one, a light question; what was stopped and is answered goes on',
    )
    .argument('[name]')
    .action((name) => finish(async () => (await loadCheck()).check(await config(), name, json())));
}

function addPauseAndResume(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('pause')
    .description('begin nothing more for an account')
    .argument('<name>')
    .option('--reason <text>', 'why, for those who look at it later')
    .action((name, given) =>
      finish(async () => (await load()).pause(await config(), name, {...given, ...json()})),
    );
  accounts
    .command('resume')
    .description('let an account go on')
    .argument('<name>')
    .action((name) => finish(async () => (await loadCheck()).resume(await config(), name, json())));
}

function addRenameAndRemove(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('rename')
    .description('call an account by another name here')
    .argument('<name>')
    .argument('<new-name>')
    .action((name, next) =>
      finish(async () => (await loadLife()).rename(await config(), name, next, json())),
    );
  accounts
    .command('remove')
    .description(
      'remove a paused account with all that it holds here: shows what goes, its name is typed back',
    )
    .argument('<name>')
    .action((name) => finish(async () => (await loadLife()).remove(await config(), name, json())));
}

function addMove(accounts: Command, {json}: Surroundings): void {
  accounts
    .command('move')
    .description(
      'give a paused account a new address, where the same business is: its records there are compared first',
    )
    .argument('<name>')
    .requiredOption(
      '--url <address>',
      "the account's new base address: https://app.example.com/acme",
    )
    .action((name, given) =>
      finish(async () =>
        (await import('./accounts-move.ts')).move(await config({isAdding: true}), name, {
          ...given,
          ...json(),
        }),
      ),
    );
}
