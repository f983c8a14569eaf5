// npm run torture -- chaos [--minutes 10] [--seed 1] [--queue both]: real workers, a Postgres, a
// Redis and the service, all behind lines that delay, cut and lose; authors write on both sides
// while every part is killed, stopped, restarted and lost. Then all is quiet, and the outcome of
// each change and each field is judged. Traffic stays on 127.0.0.1.

import {parseArgs} from 'node:util';
import {formatResult, listFaults} from './chaos/report.ts';
import {type Options, runChaos} from './chaos/run.ts';

const {values} = parseArgs({
  args: process.argv.slice(3),
  options: {
    minutes: {type: 'string', default: '10'},
    seed: {type: 'string', default: '1'},
    queue: {type: 'string', default: 'both'},
  },
});
const queues = {redis: ['redis'], postgres: ['postgres'], both: ['redis', 'postgres']} as const;
const chosen = queues[values.queue as keyof typeof queues];
const minutes = Number(values.minutes);
if (chosen === undefined || !(minutes > 0)) {
  process.stderr.write(
    'torture: expected --queue redis, postgres or both, and --minutes above 0, ' +
      `got "${values.queue}" and "${values.minutes}"\n`,
  );
  process.exit(2);
}
let faults = 0;
for (const queue of chosen) {
  const options: Options = {seed: Number(values.seed), minutes, queue};
  const result = await runChaos(options, (line) => process.stdout.write(`${queue}: ${line}\n`));
  const found = listFaults(result, `seed ${options.seed}, queue in ${queue}`);
  faults += found.length;
  const told = [...found, ...result.stories].map((line) => `${line}\n`).join('');
  process.stdout.write(`${formatResult(result, options)}\n${told}`);
}
process.exit(faults === 0 ? 0 : 1);
