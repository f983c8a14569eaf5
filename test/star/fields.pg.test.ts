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

describe('a field that a sweep saw', () => {
  test('is listed with its type, its column, and the stream and sweep that saw it', async () => {
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

  test('causes no event if its stream or its table had no records before', async () => {
    await sweep([seen('a'), seen('b')]);
    await sweep([seen('a'), seen('b'), seen('id', 'integer', {table: 'contacts'})]);
    expect(await events()).toEqual([]);
  });

  test('causes one event if it is new in a later sweep of its stream', async () => {
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

  test('causes no event while the first sweep of its stream runs', async () => {
    const sweepId = await beginSweep();
    await remember(sweepId, [seen('a')]);
    await remember(sweepId, [seen('b')]);
    expect(await events()).toEqual([]);
  });

  test('belongs to its account only', async () => {
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

  test('has both types if one batch contains it with two types', async () => {
    await sweep([seen('a', 'float'), seen('a', 'integer')]);
    expect((await field('a')).types).toEqual(['float', 'integer']);
  });

  test('gets the time and the number of the sweep that saw it again', async () => {
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

  test('is stored once if several batches report it at the same time', async () => {
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

  test('may have a name full of quotes', async () => {
    const name = `o'x"y\\z $1 %s`;
    await sweep([seen(name)], {wroteRows: true});
    expect(await field(name)).toMatchObject({field: name});
  });
});

describe('a type of a field', () => {
  test('is added and reported if the field never had it', async () => {
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

  test('is reported when it becomes text if the record names types', async () => {
    await sweep([seen('a', 'integer'), seen('b', 'integer')]);
    await sweep([seen('a', 'text'), seen('b', 'integer')]);
    expect(await events()).toEqual(['jobs.a retyped: sent as text; before as integer']);
  });

  test('is kept when a dialect names no types, and its return causes no event', async () => {
    await sweep([seen('a', 'integer'), seen('b', 'text')]);
    await sweep([seen('a', 'text', {isTyped: false}), seen('b', 'text', {isTyped: false})]);
    await sweep([seen('a', 'integer'), seen('b', 'text')]);
    expect((await field('a')).types).toEqual(['integer']);
    expect(await events()).toEqual([]);
  });

  test('is added without an event when the dialect begins to name types', async () => {
    await sweep([seen('a', 'text', {isTyped: false}), seen('b', 'text', {isTyped: false})]);
    await sweep([seen('a', 'integer'), seen('b', 'text')]);
    expect((await field('a')).types).toEqual(['text', 'integer']);
    expect(await events()).toEqual([]);
  });

  test('causes no event if the field was always nil before', async () => {
    await sweep([seen('a', null), seen('b', 'integer')]);
    expect((await field('a')).types).toEqual([]);
    await sweep([seen('a', 'text'), seen('b', null)]);
    expect((await field('a')).types).toEqual(['text']);
    expect((await field('b')).types).toEqual(['integer']);
    expect(await events()).toEqual([]);
  });
});

describe('a field that a sweep did not see', () => {
  test('vanishes if the sweep parsed every record, and returns when it is seen again', async () => {
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

  test('does not vanish if the sweep skipped known bytes', async () => {
    await sweep([seen('a'), seen('b')]);
    await sweep([seen('a')], {parsedAll: false});
    expect((await field('b')).vanished_at).toBeNull();
    expect(await events()).toEqual([]);
  });

  test('does not vanish if no record of its table was parsed', async () => {
    await sweep([seen('a'), seen('id', 'integer', {table: 'job_charges'})]);
    await sweep([seen('a')]);
    expect((await field('id', 'job_charges')).vanished_at).toBeNull();
  });

  test('does not vanish if a window saw it while the sweep ran', async () => {
    await sweep([seen('a'), seen('b')]);
    const sweepId = await beginSweep();
    await remember(sweepId, [seen('a')]);
    await remember('999', [seen('b')]);
    await settle(sweepId);
    expect(await events()).toEqual([]);
  });

  test('does not vanish while another stream that embeds the same records sees it', async () => {
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
