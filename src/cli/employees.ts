// The verb `employees login`: user name and password of an employee, sent to the service at once.

import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {isLoginText, loginText, setLogin, tellLogin} from '../push/set-login.ts';
import {chooseAccount, requireActive} from './accounts.ts';
import {requireOpened, withWorld} from './app.ts';
import {print, wrap} from './print.ts';
import {readSecret} from './prompt.ts';

interface EmployeesLoginOptions {
  readonly username: string;
  readonly force?: boolean;
  readonly json: boolean;
  readonly signal: AbortSignal;
}

/**
 * Gives an employee a login. The password comes from standard input or a hidden prompt, and is
 * never kept.
 * @returns the exit code: 1 where it was refused, 3 where nothing could be sent or no answer came
 * @throws {UsageError} no such account or employee, no password
 */
export async function employeesLogin(
  config: Config,
  {account: name, number}: {readonly account: string; readonly number: string},
  {username, force = false, json, signal}: EmployeesLoginOptions,
): Promise<number> {
  if (!isLoginText(username))
    throw new UsageError(`employees login: --username: expected ${loginText}, got another text`);
  return await withWorld(
    config,
    async (world) => {
      const account = requireActive(await chooseAccount(world, name));
      await requireOpened(world, account);
      const password = await readSecret(
        `Password of employee ${number} (it is not shown): `,
        'employees login: expected the password on standard input, got nothing',
        {keepsBlanks: true},
      );
      const {accountId} = account;
      const asked = {accountId, number, username, password, force, by: null};
      const result = await setLogin(world, asked, signal);
      const {outcome, words, hint = null} = result;
      if (outcome === 'not-found') throw new UsageError(tellLogin(result));
      print(json, {
        json: {employee_number: number, username, outcome, detail: words, hint},
        text: wrap(tellLogin(result)),
      });
      return exitCodes[outcome];
    },
    {signal},
  );
}

const exitCodes = {set: 0, refused: 1, unknown: 3, 'not-sent': 3} as const;
