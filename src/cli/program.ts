// The command line: all verbs and options, and the run of one. A verb's file is loaded when the
// verb is called, so that a short command is fast.

import {Command} from 'commander';
import {readVersion} from '../core/package.ts';
import {printErr, printOut} from '../core/text.ts';
import {exit, exitCodeOf, exitOnStrayErrors, reportError} from './process.ts';
import {awaitStop, codeOfSignal, StoppedError} from './stop.ts';
import {addChanges, addFeed, addHooks, addInsight, addLinks, addMatch} from './verbs-data.ts';
import {
  addConfig,
  addHttp,
  addInit,
  addInstallation,
  addMirror,
  addRehearse,
  addService,
  addWarehouse,
} from './verbs-mirror.ts';
import {addAccounts, addEmployees, addSweeps, addUpkeep} from './verbs-upkeep.ts';

/** In the order in which help lists them. */
const groups = [
  addInit,
  addMirror,
  addInsight,
  addUpkeep,
  addService,
  addRehearse,
  addChanges,
  addFeed,
  addHooks,
  addLinks,
  addMatch,
  addSweeps,
  addAccounts,
  addEmployees,
  addConfig,
  addInstallation,
  addWarehouse,
  addHttp,
];

/** @param signal - ends the verb that runs, when a person stops it */
export function buildProgram(signal: AbortSignal): Command {
  const program = new Command('fieldmirror')
    .description('Syncs field-service accounts with a Postgres warehouse, in both directions.')
    .version(readVersion(), '--version', 'print the version')
    .option('--json', 'print one JSON document instead of text')
    .showSuggestionAfterError()
    .showHelpAfterError('(fieldmirror --help lists the verbs)')
    .exitOverride()
    .configureOutput({writeOut: printOut, writeErr: printErr})
    .addHelpText('after', helpEnd);
  const json = () => ({json: program.opts().json === true});
  for (const add of groups) add(program, {json, signal});
  for (const command of program.commands)
    for (const verb of [command, ...command.commands])
      verb
        .option('--json', 'print one JSON document instead of text')
        .showHelpAfterError(`(${describeHelp(verb)})`);
  return program;
}

/**
 * `fieldmirror hooks add --help lists its options`: names the call whose help lists the mistyped
 * part.
 */
function describeHelp(verb: Command): string {
  const parentNames =
    verb.parent === null || verb.parent.parent === null ? [] : [verb.parent.name()];
  const call = ['fieldmirror', ...parentNames, verb.name(), '--help'].join(' ');
  return `${call} lists its ${verb.commands.length > 0 ? 'verbs' : 'options'}`;
}

/** Runs the verb of the command line; an error becomes an exit code. */
export async function runProgram(): Promise<never> {
  exitOnStrayErrors();
  const signal = awaitStop();
  try {
    await buildProgram(signal).parseAsync();
  } catch (error) {
    process.exitCode = signal.aborted ? toExitCodeAfterStop(error, signal) : reportError(error);
  }
  return await exit(Number(process.exitCode ?? 0), signal);
}

/**
 * The exit code after a person has stopped the verb: work in progress continues at the next start.
 */
function toExitCodeAfterStop(error: unknown, {reason}: AbortSignal): number {
  const exitCode = exitCodeOf(error);
  if (exitCode !== 70) return exitCode;
  return reason instanceof StoppedError ? codeOfSignal(reason.signal) : 1;
}

const helpEnd = `
Try it with made-up data and an embedded Postgres: fieldmirror start --once
Set up your account: fieldmirror init

Settings, from the environment or .env:
  FIELDMIRROR_API_URL, FIELDMIRROR_API_TOKEN, FIELDMIRROR_TIME_ZONE   the account
  FIELDMIRROR_KEY or FIELDMIRROR_KEY_FILE   key that seals tokens of more accounts
  DATABASE_URL   the warehouse           REDIS_URL   the queue
  FIELDMIRROR_HOME   folder of the embedded Postgres (.fieldmirror)
  FIELDMIRROR_ALLOW_HTTP=1   allow plain http to another machine
  FIELDMIRROR_ALLOW_LINK_LOCAL=1   allow link-local and cloud metadata addresses
  FIELDMIRROR_SMTP_URL   mail server for alerts and weekly reports
  FIELDMIRROR_CONSOLE_URL, FIELDMIRROR_HOST_NAMES   address and further names of the server
  FIELDMIRROR_LOG_LEVEL   debug, info, warn (default), error, silent

Exit codes: 0 done · 1 done, but some records or changes were refused ·
2 wrong usage or configuration · 3 a dependency is unreachable or refuses us · 70 a bug`;
