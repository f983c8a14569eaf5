import {describe, expect, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {
  beginSweep,
  events,
  field,
  pool,
  remember,
  seen,
  settle,
  sweep,
  useFieldsPlace,
} from './fields-place.ts';

useFieldsPlace();

describe('a field that is seen', () => {
  test('is listed with its type, its column, and who saw it', async () => {
    const sweepId = await sweep([seen('custom_text1'), seen('id', 'integer', {column: 'id'})]);
    expect(await field('custom_text1')).toMatchObject({
      stream: 'jobs',
      types: ['text'],
      column_name: null,
      filled_share: null,
      last_sweep_id: sweepId,
      vanished_at: null,
    });
    expect(await field('id')).toMatchObject({types: ['integer'], column_name: 'id'});
  });

  test('for the first time ever makes no event, nor in a table without records', async () => {
    await sweep([seen('a'), seen('b')]);
    await sweep([seen('a'), seen('b'), seen('id', 'integer', {table: 'contacts'})]);
    expect(await events()).toEqual([]);
  });

  test('in a later sweep of its stream is news, once', async () => {
    await sweep([seen('a')]);
    const fields = [
      seen('a'),
      seen('b', 'decimal'),
      seen('c', null),
      seen('d', 'integer', {column: 'd'}),
      seen('token', 'secret'),
    ];
    await sweep(fields);
    await sweep(fields);
    expect(await events()).toEqual([
      'jobs.b new: sent as decimal; kept in extra',
      'jobs.c new: kept in extra',
      'jobs.d new: sent as integer; kept in the column d',
      'jobs.token new: a secret: dropped, never stored',
    ]);
  });

  test('while its stream is swept for the first time is no news', async () => {
    const sweepId = await beginSweep();
    await remember(sweepId, [seen('a')]);
    await remember(sweepId, [seen('b')]);
    expect(await events()).toEqual([]);
  });

  test('is of its account alone', async () => {
    await sweep([seen('a')]);
    const other = await upsertAccount(pool, {
      name: 'other',
      apiUrl: 'https://example.com/other',
      timeZone: 'UTC',
    });
    const sweepId = await beginSweep('jobs', other.accountId);
    await remember(sweepId, [seen('a', 'integer')], 'jobs', other.accountId);
    expect(await events()).toEqual([]);
    const {rows} = await pool.query(
      `SELECT types FROM sync.fields WHERE field = 'a' ORDER BY account_id`,
    );
    expect(rows).toEqual([{types: ['text']}, {types: ['integer']}]);
  });

  test('as two types in one batch has both', async () => {
    await sweep([seen('a', 'float'), seen('a', 'integer')]);
    expect((await field('a')).types).toEqual(['float', 'integer']);
  });

  test('again is noted with the moment and the sweep', async () => {
    await sweep([seen('a')]);
    const before = await field('a');
    const sweepId = await sweep([seen('a')]);
    const after = await field('a');
    expect(after).toMatchObject({
      last_sweep_id: sweepId,
      first_seen_at: before.first_seen_at,
      types: ['text'],
    });
    expect(after.last_seen_at > before.last_seen_at).toBe(true);
  });

  test('by two at once is one field', async () => {
    const sweepId = await beginSweep();
    const fields = Array.from({length: 50}, (_, n) => seen(`f${n}`));
    await Promise.all([
      remember(sweepId, fields),
      remember(sweepId, fields.toReversed()),
      remember(sweepId, fields),
    ]);
    const {rows} = await pool.query('SELECT count(*) FROM sync.fields');
    expect(rows).toEqual([{count: '50'}]);
  });

  test('with a name full of quotes is a name', async () => {
    const name = `o'x"y\\z $1 %s`;
    await sweep([seen(name)], {wroteRows: true});
    expect(await field(name)).toMatchObject({field: name});
  });
});

describe('a type', () => {
  test('that a field never had is added and told', async () => {
    await sweep([seen('a', 'integer'), seen('b', 'text')]);
    await sweep([seen('a', 'decimal'), seen('b', 'boolean')]);
    await sweep([seen('a', 'integer'), seen('a', 'decimal'), seen('b', 'text')]);
    expect((await field('a')).types).toEqual(['integer', 'decimal']);
    expect((await field('b')).types).toEqual(['text', 'boolean']);
    expect(await events()).toEqual([
      'jobs.a retyped: sent as decimal; before as integer',
      'jobs.b retyped: sent as boolean; before as text',
    ]);
  });

  test('that becomes text is told, where the record names types', async () => {
    await sweep([seen('a', 'integer'), seen('b', 'integer')]);
    await sweep([seen('a', 'text'), seen('b', 'integer')]);
    expect(await events()).toEqual(['jobs.a retyped: sent as text; before as integer']);
  });

  test('is not lost to a dialect that names none, and coming back is no news', async () => {
    await sweep([seen('a', 'integer'), seen('b', 'text')]);
    await sweep([seen('a', 'text', {isTyped: false}), seen('b', 'text', {isTyped: false})]);
    await sweep([seen('a', 'integer'), seen('b', 'text')]);
    expect((await field('a')).types).toEqual(['integer']);
    expect(await events()).toEqual([]);
  });

  test('is learnt without news when the dialect begins to name types', async () => {
    await sweep([seen('a', 'text', {isTyped: false}), seen('b', 'text', {isTyped: false})]);
    await sweep([seen('a', 'integer'), seen('b', 'text')]);
    expect((await field('a')).types).toEqual(['text', 'integer']);
    expect(await events()).toEqual([]);
  });

  test('of a field that was always nil is no news', async () => {
    await sweep([seen('a', null), seen('b', 'integer')]);
    expect((await field('a')).types).toEqual([]);
    await sweep([seen('a', 'text'), seen('b', null)]);
    expect((await field('a')).types).toEqual(['text']);
    expect((await field('b')).types).toEqual(['integer']);
    expect(await events()).toEqual([]);
  });
});

describe('a field that is not seen', () => {
  test('by a sweep that parsed every record has vanished; seen again it is back', async () => {
    await sweep([seen('a'), seen('b')]);
    await sweep([seen('a')]);
    expect((await field('b')).vanished_at).not.toBeNull();
    expect((await field('a')).vanished_at).toBeNull();
    await sweep([seen('a')]);
    await sweep([seen('a'), seen('b')]);
    expect((await field('b')).vanished_at).toBeNull();
    expect(await events()).toEqual([
      expect.stringMatching(
        /^jobs\.b vanished: no record contains it any longer; last seen \d{4}-\d\d-\d\d$/,
      ),
      expect.stringMatching(/^jobs\.b returned: seen again; missed since \d{4}-\d\d-\d\d$/),
    ]);
  });

  test('by a sweep that skipped known bytes is where it was', async () => {
    await sweep([seen('a'), seen('b')]);
    await sweep([seen('a')], {parsedAll: false});
    expect((await field('b')).vanished_at).toBeNull();
    expect(await events()).toEqual([]);
  });

  test('is where it was when no record of its table was parsed', async () => {
    await sweep([seen('a'), seen('id', 'integer', {table: 'job_charges'})]);
    await sweep([seen('a')]);
    expect((await field('id', 'job_charges')).vanished_at).toBeNull();
  });

  test('by the sweep itself, but by a window meanwhile, is where it was', async () => {
    await sweep([seen('a'), seen('b')]);
    const sweepId = await beginSweep();
    await remember(sweepId, [seen('a')]);
    await remember('999', [seen('b')]);
    await settle(sweepId);
    expect(await events()).toEqual([]);
  });

  test('by one stream, but by another that embeds the same records, is where it was', async () => {
    const rate = seen('rate', 'decimal', {table: 'tax_entities'});
    const id = seen('id', 'integer', {table: 'tax_entities'});
    for (let round = 0; round < 2; round++) {
      await sweep([id, rate], {stream: 'customers'});
      await sweep([seen('a'), id]);
    }
    expect((await field('rate', 'tax_entities')).vanished_at).toBeNull();
    expect(await events()).toEqual([]);
    await sweep([id], {stream: 'customers'});
    expect((await field('rate', 'tax_entities')).vanished_at).not.toBeNull();
  });
});
