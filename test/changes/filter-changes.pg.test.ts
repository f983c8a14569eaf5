// Changes chosen by what they have in common, for every verb about changes.

import {beforeEach, expect, test} from 'vitest';
import {inSequence} from '../support/patterns.ts';
import {
  changes,
  editPhone,
  pool,
  putInConflict,
  set,
  stateOf,
  told,
  useChangesPlace,
} from './changes-place.ts';

useChangesPlace();

let spoilt: string[];
let own: string;

/** Three edits of one transaction with a name, and one of nobody's. */
beforeEach(async () => {
  await pool.query(`BEGIN; SET LOCAL fieldmirror.batch = 'import 4711';
    UPDATE warehouse.customers SET phone_number = '555-0000' WHERE customer_number <= 3; COMMIT`);
  const {rows} = await pool.query('SELECT change_id FROM sync.changes ORDER BY change_id');
  spoilt = rows.map(({change_id}) => change_id);
  own = await editPhone(4);
});

const statesOf = async () => await Promise.all([...spoilt, own].map(stateOf));

test('a verb applies to all matching changes, and lists failures with their reason', async () => {
  await set(spoilt[0] ?? '', `lease_until = now() + interval '1 h'`);
  expect(await changes('hold', '--batch', 'import 4711')).toEqual({
    code: 1,
    stdout: expect.stringMatching(
      inSequence(
        /^2 changes are held\.\n1 could not be decided so: expected pending to hold it, /,
        /got pending, and a\s+worker has it \(change \d+\)\.\n$/,
      ),
    ),
    stderr: '',
  });
  expect(await statesOf()).toEqual(['pending', 'held', 'held', 'pending']);
  expect(await changes('release', '--state', 'held', '--since', '1h')).toMatchObject({
    code: 0,
    stdout: '2 changes are pending.\n',
  });
});

test.each([
  ['--batch', 'import 4711', 3],
  ['--by', 'erp-bridge', 4],
  ['--table', 'customers', 4],
  ['--table', 'jobs', 0],
  ['--since', '1h', 4],
  ['--since', '2099-01-01T00:00:00Z', 0],
  ['--account', 'acme', 4],
  ['--state', 'pending', 4],
] as const)('%s %s lists and holds the same changes', async (option, value, count) => {
  expect((await told('list', option, value)).changes).toHaveLength(count);
  expect((await told('hold', option, value, '--dry-run')).canCount).toBe(count);
  expect((await told('hold', option, value)).changes).toHaveLength(count);
});

test('changes list finds a transaction by the number that changes show prints', async () => {
  const {stdout} = await changes('show', spoilt[0] ?? '');
  const [, transaction = ''] = /within +import 4711, transaction (\d+)\n/.exec(stdout) ?? [];
  expect((await told('list', '--transaction', transaction)).changes).toHaveLength(3);
  expect((await changes('list')).stdout).toMatch(/│ batch +│/);
  expect((await changes('list', '--table', 'customers', '--by', 'erp-bridge')).stdout).toContain(
    'import 4711',
  );
});

test('--dry-run shows what would be done, and does nothing', async () => {
  await set(own, `state = 'held'`);
  expect(await changes('hold', '--all', '--dry-run')).toEqual({
    code: 0,
    stdout: `3 changes can be decided so:
  3  update customers, pending (change ${spoilt.join(', ')})
1 cannot:
  1  expected pending to hold it, got held (change ${own})
nothing was done
`,
    stderr: '',
  });
  expect(await statesOf()).toEqual(['pending', 'pending', 'pending', 'held']);
});

test('matching conflicts are all resolved for the same side', async () => {
  for (const id of spoilt) await putInConflict(id);
  expect(await changes('resolve', '--take', 'service', '--state', 'conflict')).toMatchObject({
    code: 0,
    stdout: '3 changes are cancelled.\n',
  });
});

test.each([
  [['hold'], 'changes hold: expected the numbers of changes, or a filter'],
  [
    ['hold', '1', '--all'],
    'changes hold: expected the numbers of changes or filters, got both: 1 and --all',
  ],
  [
    ['resolve', '--all', '--resend'],
    'changes resolve: --resend: expected the numbers of changes, got a filter',
  ],
  [
    ['resolve', '--all', '--adopt', '7'],
    'changes resolve: --adopt: expected one change, got a filter',
  ],
  [['hold', '--since', 'yesterday'], 'expected a span such as 30m, 2h or 3d'],
  [['list', '--transaction', 'x'], 'expected a number'],
])('%j is refused before anything is done', async (args, said) => {
  expect(await changes(...args)).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining(said),
  });
  expect(await statesOf()).toEqual(Array(4).fill('pending'));
});
