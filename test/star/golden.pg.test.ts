// What the questions answer about a made-up business on a fixed day, kept as text: a figure that
// changes is a file that changes (`vitest run test/star/golden.pg.test.ts -u`).

import {join} from 'node:path';
import {Temporal} from 'temporal-polyfill';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {formatAnswer} from '../../src/cli/ask.ts';
import {playPast} from '../../src/cli/demo-past.ts';
import {createLogger} from '../../src/core/log.ts';
import {seedBusiness} from '../../src/service/business.ts';
import {
  answerQuestion,
  beginReading,
  describeScope,
  groupQuestion,
  prepareQuestion,
  toQuestionWord,
} from '../../src/star/answer.ts';
import {questions} from '../../src/star/star.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {createDatabase} from '../support/postgres.ts';
import {SetUp} from '../support/set-up.ts';
import {openStarWarehouse} from './star-warehouse.ts';

const timeZone = 'America/New_York';
const begin = Temporal.PlainDate.from('2026-08-03');
// The last day is not swept.
const nights = 13;
const asOf = '2026-08-15T12:00:00Z';
/** Enough of a long answer to see that it changed. */
const limit = 15;

const setUp = new SetUp();
let ask: (question: (typeof questions)[number]) => Promise<string>;

beforeAll(async () => {
  const drop = (database: {drop(): Promise<void>}) => database.drop();
  const business = await setUp.step('making a database', () => createDatabase(), drop);
  const {pool, url} = await openStarWarehouse(setUp, 8);
  const pageReader = await setUp.step(
    'starting to read pages',
    async () => new PageReader(),
    (reader) => reader.close(),
  );
  await seedBusiness(business.url, {
    seed: 1,
    customers: 80,
    jobs: 480,
    today: begin.toString(),
    timeZone,
  });
  const account = await upsertAccount(pool, {
    name: 'golden',
    apiUrl: 'http://127.0.0.1:1',
    timeZone,
  });
  const log = createLogger({level: 'error', secrets: []});
  await playPast(
    {pool, databaseUrl: url, pageReader, log},
    {account, databaseUrl: business.url, begin, nights},
  );
  await pool.query(
    'INSERT INTO mart.settings (account_key, currency, working_hours) VALUES ($1, $2, $3)',
    [account.accountId, 'USD', [8, 8, 8, 8, 8, 0, 0]],
  );
  ask = async (question) => {
    const client = await pool.connect();
    try {
      await beginReading(client);
      const asked = await prepareQuestion(client, question, {accountKey: account.accountId, asOf});
      // Else some answers take 24 s.
      const {rows} = await client.query('SHOW enable_nestloop');
      expect(rows).toEqual([{enable_nestloop: 'off'}]);
      const answered = await answerQuestion(client, asked, limit);
      return `${[
        `${question.question}\n`,
        formatAnswer(answered.answer),
        ...describeScope(answered),
      ].join('\n')}\n`;
    } finally {
      await client.query('ROLLBACK');
      client.release();
    }
  };
}, 120_000);
afterAll(() => setUp.end());

/** How old the data is depends on how fast this machine is. */
const told = questions.filter(({name}) => name !== 'ask_freshness');
const grouped = told.flatMap((question) =>
  Object.keys(question.by ?? {}).map((by) => groupQuestion(question, by)),
);
const words = (question: (typeof told)[number]) =>
  question.grouped === undefined
    ? toQuestionWord(question)
    : `${toQuestionWord(question)}-by-${question.grouped}`;

test.each([...told, ...grouped].map((question) => [words(question), question] as const))(
  'the answer to %s matches its golden file',
  async (word, question) => {
    await expect(await ask(question)).toMatchFileSnapshot(
      join(import.meta.dirname, 'golden', `${word}.txt`),
    );
  },
);
