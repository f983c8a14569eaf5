import type {Command} from 'commander';
import {readPort} from './arguments.ts';
import {config, finish, type Surroundings} from './verb.ts';

export function addHttp(program: Command, surroundings: Surroundings): void {
  addServer(program, surroundings);
  addKeys(program, surroundings);
}

function addServer(program: Command, {json, signal}: Surroundings): void {
  program
    .command('http')
    .description('the warehouse over HTTP, for systems that do not speak SQL')
    .option('--port <number>', 'where to listen', readPort, 8086)
    .option('--host <address>', 'on which address; of another than this machine, behind TLS', '127.0.0.1')
    .action((given) =>
      finish(async () =>
        (await import('../commands/http.ts')).http(await config(), {...given, ...json()}, signal),
      ),
    );
}

function addKeys(program: Command, {json}: Surroundings): void {
  const keys = program.command('keys').description('look after the keys of the HTTP API');
  const load = () => import('../commands/accounts/keys.ts');
  keys
    .command('add')
    .description('make a key; it is shown this once')
    .argument('<name>', 'what the key is called here: its changes show it')
    .option('--account <name>', 'which account it opens, where there are several')
    .option('--read-only', 'it makes no changes')
    .action((name, given) =>
      finish(async () => (await load()).add(await config(), name, {...given, ...json()})),
    );
  keys
    .command('list')
    .description('the keys, what they open, when they last did')
    .action(() => finish(async () => (await load()).list(await config(), json())));
  keys
    .command('revoke')
    .description('let a key open nothing any more')
    .argument('<name>')
    .action((name) => finish(async () => (await load()).revoke(await config(), name, json())));
}
