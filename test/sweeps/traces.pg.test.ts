// A real tracer sees a real sweep and a real push.

import {AsyncLocalStorage} from 'node:async_hooks';
import {SpanKind, SpanStatusCode} from '@opentelemetry/api';
import {
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
  type Span,
} from '@opentelemetry/sdk-trace-node';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {pushAccount} from '../../src/push/push.ts';
import {allowLargeEdits} from '../support/large-edits.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

const exporter = new InMemorySpanExporter();
/** The customers of the reference service are two pages. */
const emptyPage = 3;
const ofTest = new AsyncLocalStorage<true>();

/** Leaves out what tests before these have left running in this process. */
class OwnSpans extends SimpleSpanProcessor {
  readonly #own = new WeakSet<object>();

  override onStart(span: Span): void {
    if (ofTest.getStore() === true) this.#own.add(span);
  }

  override onEnd(span: ReadableSpan): void {
    if (this.#own.has(span)) super.onEnd(span);
  }
}

const provider = new NodeTracerProvider({spanProcessors: [new OwnSpans(exporter)]});

let service: TestService;
let world: TestWorld;

beforeAll(async () => {
  provider.register();
  service = await openService();
  world = await openWorld(service);
});

afterAll(async () => {
  await world.close();
  await service.close();
  await provider.shutdown();
});

/**
 * Does some work. @returns its spans, and each with the names of those above it, the outermost
 * first
 */
async function trace(work: () => Promise<unknown>) {
  exporter.reset();
  await ofTest.run(true, work);
  const spans = exporter.getFinishedSpans();
  const byId = new Map(spans.map((span) => [span.spanContext().spanId, span]));
  const wayTo = (span: ReadableSpan): string => {
    const parent = byId.get(span.parentSpanContext?.spanId ?? '');
    return parent === undefined ? span.name : `${wayTo(parent)} > ${span.name}`;
  };
  const ways = new Set(spans.map(wayTo));
  return {
    spans,
    ways: [...ways].toSorted(),
    named: (name: string) => spans.filter((span) => span.name === name),
  };
}

/** Each page that was requested: its number, and its request unless it was cut off before it. */
function pairPages(spans: readonly ReadableSpan[]) {
  const requests = new Map(
    spans
      .filter(({name}) => name === 'request')
      .map((request) => [request.parentSpanContext?.spanId, request]),
  );
  return spans
    .filter(({name}) => name === 'page')
    .map((page) => ({
      page: Number(page.attributes['fieldmirror.page']),
      hasFailed: page.status.code === SpanStatusCode.ERROR,
      request: requests.get(page.spanContext().spanId),
    }));
}

describe('a sweep', () => {
  test('is one trace, with its pages, batches and requests below it', async () => {
    const {spans, ways, named} = await trace(() => world.sweep('customers'));
    expect(ways).toEqual([
      'sweep',
      'sweep > batch',
      'sweep > page',
      'sweep > page > request',
      'sweep > request',
    ]);
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
    const [sweep, ...others] = named('sweep');
    expect(others).toEqual([]);
    expect(sweep?.attributes).toEqual({
      'fieldmirror.account': 'test',
      'fieldmirror.stream': 'customers',
      'fieldmirror.sweep': '1',
      'fieldmirror.mode': 'full',
      'fieldmirror.outcome': 'certified',
      'fieldmirror.records': expect.any(Number),
    });
    const pages = pairPages(spans);
    const answered = pages.filter(({hasFailed}) => !hasFailed);
    expect(answered.map(({page}) => page)).toEqual(expect.arrayContaining([1, 2, emptyPage]));
    for (const {request} of answered)
      expect({...request?.attributes, kind: request?.kind}).toMatchObject({
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'server.address': '127.0.0.1',
        'url.path': expect.stringMatching(/customers\.xml$/),
        kind: SpanKind.CLIENT,
      });
    // A page that was requested ahead is cut off once the end of the list is known.
    for (const {page} of pages.filter(({hasFailed}) => hasFailed))
      expect(page).toBeGreaterThan(emptyPage);
  });

  test('that fails is marked at the request that failed, and at the spans above it', async () => {
    const {url} = service;
    const {ways, named} = await trace(async () => {
      const failing = await openWorld({url, token: 'mistyped'});
      await failing.sweep('customers');
      await failing.close();
    });
    expect(ways).toEqual(['sweep', 'sweep > page', 'sweep > page > request']);
    expect(named('request')[0]?.attributes).toMatchObject({'http.response.status_code': 401});
    expect(named('page')[0]).toMatchObject({
      status: {code: 2},
      attributes: {'error.type': 'AccessError'},
    });
    expect(named('page')[0]?.status.message).toBeUndefined();
    expect(named('sweep')[0]?.attributes).toMatchObject({'fieldmirror.outcome': 'failed'});
  });
});

test('each change of a push is a separate trace, with its requests', async () => {
  await world.sweep('customers');
  await allowLargeEdits(world.pool);
  await world.pool.query(
    `UPDATE warehouse.customers SET service_address = 'Kanarienweg ' || customer_number
      WHERE customer_number <= 20`,
  );
  const {spans, ways, named} = await trace(() =>
    pushAccount(world, world.account.accountId, new AbortController().signal),
  );
  expect(ways).toEqual(['change', 'change > request']);
  expect(named('change').length).toBe(20);
  for (const change of named('change')) {
    expect(change.attributes).toEqual({
      'fieldmirror.account': 'test',
      'fieldmirror.table': 'customers',
      'fieldmirror.operation': 'update',
      'fieldmirror.change': expect.stringMatching(/^\d+$/),
      'fieldmirror.outcome': 'done',
    });
    const below = spans.filter(
      (each) => each.parentSpanContext?.spanId === change.spanContext().spanId,
    );
    // Its record is read, written and read back; each request is about the same record.
    expect(below.map((each) => each.attributes['http.request.method'])).toEqual([
      'GET',
      'PUT',
      'GET',
    ]);
    expect(new Set(below.map((each) => each.attributes['url.path'])).size).toBe(1);
  }
});

test('no span attribute contains a value of a record, or a query', async () => {
  const {spans} = await trace(() => world.sweep('jobs', {windowName: 'scheduled=this_week'}));
  expect(spans.length).toBeGreaterThan(0);
  for (const {attributes} of spans)
    for (const value of Object.values(attributes))
      expect(String(value)).not.toMatch(/[?&=]|Kanari/);
});
