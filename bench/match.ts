// npm run bench:match [-- --size 10000] [-- --seeds 3]: customers of two made-up systems, whose
// truth is known, are matched. It reports; it asserts nothing.

import {parseArgs} from 'node:util';
import {formatTable} from '../src/core/format.ts';
import {judgeMatching} from '../test/match/judge.ts';

const {values} = parseArgs({
  options: {size: {type: 'string', default: '10000'}, seeds: {type: 'string', default: '3'}},
});
const percent = (share: number) => `${(share * 100).toFixed(1)} %`;
const rows = Array.from({length: Number(values.seeds)}, (_, at) => {
  const judged = judgeMatching(Number(values.size), at + 1);
  return [
    ...[at + 1, judged.ours, judged.theirs, judged.true, judged.wrong.length],
    ...[percent(judged.inSure), percent(judged.inSureOnce), percent(judged.inSureOrSeveral)],
    (judged.cpuMs / 1_000).toFixed(1),
  ];
});
const head = [
  ...['seed', 'here', 'there', 'on both', 'wrong in sure', 'in sure', 'of those there once'],
  ...['in sure or several', 'CPU s'],
];
const peak = Math.round(process.resourceUsage().maxRSS / 1_024);
process.stdout.write(`${formatTable(head, rows)}\n${peak} MB of memory at the peak\n`);
