// The files of ops/ against the running exporter: an unknown metric, label or word of a label in
// them would never say anything.

import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {parse} from 'yaml';
import {catalogue, metricQuestions} from '../../src/http/metric-catalogue.ts';
import type {Exposition, Family} from './exposition.ts';
import {listPanels, listRules, type Query, readAccountQuery} from './operations-files.ts';
import {type Matcher, readExpression, type Use} from './promql.ts';
import {openTelemetry, type TelemetryPlace} from './telemetry-place.ts';
import {fillWarehouse} from './telemetry-rows.ts';

let place: TelemetryPlace;
let told: Exposition;
beforeAll(async () => {
  place = await openTelemetry();
  await fillWarehouse(place);
  told = await place.scrape();
});
afterAll(() => place?.close());

const commands = readFileSync(join(import.meta.dirname, '../../docs/cli.md'), 'utf8');
const rules = listRules();
const panels = listPanels();
const queries: readonly Query[] = [...rules, ...panels];
/** Prometheus makes these itself. */
const givenLabels = ['job', 'instance'];
const up: Family = {name: 'up', type: 'gauge', help: '', lines: []};
const counting: ReadonlySet<string> = new Set(['rate', 'increase']);

/** The family of a metric, also of `_bucket`, `_sum` and `_count` of a histogram. */
function familyOf(metric: string): Family {
  const family =
    metric === 'up'
      ? up
      : (told.get(metric) ?? told.get(metric.replace(/_(?:bucket|sum|count)$/, '')));
  if (family === undefined) throw new Error(`${metric}: the exporter has no such metric`);
  if (family.name !== metric && family.type !== 'histogram')
    throw new Error(`${metric}: of a ${family.type}`);
  return family;
}

function labelsOf({metric}: Pick<Use, 'metric'>): string[] {
  const lines = familyOf(metric).lines.filter(({name}) => name === metric);
  return [...givenLabels, ...new Set(lines.flatMap(({labels}) => Object.keys(labels)))];
}

/**
 * The words of a matcher that no series of its metric has; names of accounts are the operator's
 * own.
 */
function unknownWords({metric}: Use, {label, operator, value}: Matcher): string[] {
  if (label === 'account' || givenLabels.includes(label)) return [];
  const known = familyOf(metric).lines.map(({labels}) => labels[label] ?? '');
  const words = operator.endsWith('~') ? value.split('|') : [value];
  return words.filter((word) => !known.some((each) => new RegExp(`^(?:${word})$`).test(each)));
}

describe.each(queries)('$file: $title', ({expression}) => {
  const {uses, groups} = readExpression(expression);

  test('uses only metrics, labels and label values that the exporter has', () => {
    expect(uses.length).toBeGreaterThan(0);
    for (const use of uses) {
      expect(labelsOf(use)).toEqual(expect.arrayContaining(use.matchers.map(({label}) => label)));
      expect(use.matchers.flatMap((matcher) => unknownWords(use, matcher))).toEqual([]);
    }
    expect(uses.flatMap(labelsOf)).toEqual(expect.arrayContaining([...groups]));
  });

  test('uses a rate or an increase for every counter, and for no gauge', () => {
    for (const {metric, functions} of uses) {
      const grows = familyOf(metric).type !== 'gauge';
      expect(
        functions.some((name) => counting.has(name)),
        metric,
      ).toBe(grows);
    }
  });

  test('does not count the same rows once for each process that reports them', () => {
    for (const {metric, functions} of uses.filter((use) =>
      /^fieldmirror_(?!warehouse_|build_)/.test(use.metric),
    )) {
      const isOfProcess = /^fieldmirror_(?:service_(?!concurrency)|change_attempts)/.test(metric);
      expect(functions, metric).toEqual(
        expect.arrayContaining([isOfProcess ? 'sum' : expect.stringMatching(/^m(?:ax|in)$/)]),
      );
    }
  });
});

describe('the alert rules', () => {
  test.each(rules)(
    '$title has a severity, a summary and an action with existing labels and commands',
    (rule) => {
      expect(['page', 'ticket', 'notice']).toContain(rule.labels.severity);
      const texts = Object.values(rule.annotations).join(' ');
      const {uses, groups} = readExpression(rule.expression);
      const named = [...texts.matchAll(/\$labels\.(\w+)/g)].map(([, label = '']) => label);
      // What is grouped away is not there any more to be named.
      expect(groups.length > 0 ? groups : uses.flatMap(labelsOf)).toEqual(
        expect.arrayContaining(named),
      );
      const verbs = [...texts.matchAll(/fieldmirror (\w+)/g)].map(([, verb]) => verb);
      for (const verb of verbs)
        expect(commands).toMatch(new RegExp(`^#+ \`fieldmirror ${verb}[ \`]`, 'm'));
      expect(Object.keys(rule.annotations)).toEqual(['summary', 'action']);
    },
  );

  test('are in the example configuration of Prometheus, whose metrics path is served', async () => {
    const file = join(import.meta.dirname, '../../ops/prometheus.yml');
    const config = parse(readFileSync(file, 'utf8'));
    expect(config.rule_files).toEqual(['alerts.yml']);
    const [scrape] = config.scrape_configs;
    expect(scrape).toMatchObject({
      job_name: 'fieldmirror',
      static_configs: [{targets: ['127.0.0.1:8086']}],
    });
    expect((await place.get(scrape.metrics_path ?? '/metrics')).status).toBe(200);
  });
});

describe('the dashboard', () => {
  test('has a row for each question, and in it the metrics that answer it', () => {
    expect([...new Set(panels.map(({row}) => row))]).toEqual(Object.values(metricQuestions));
    for (const {row, expression} of panels)
      for (const {metric} of readExpression(expression).uses) {
        const own = catalogue.find(({name}) => name === familyOf(metric).name);
        expect(row, metric).toBe(metricQuestions[own?.question ?? 'process']);
      }
  });

  test('reads its list of accounts from a label that its metric has', () => {
    const [, metric = '', label] =
      /^label_values\((\w+), (\w+)\)$/.exec(readAccountQuery() ?? '') ?? [];
    expect(labelsOf({metric})).toContain(label);
  });

  test('shows every metric of the catalogue', () => {
    const shown = panels.flatMap(({expression}) => readExpression(expression).uses);
    const names = new Set(shown.map(({metric}) => familyOf(metric).name));
    expect(catalogue.map(({name}) => name).filter((name) => !names.has(name))).toEqual([]);
  });

  test.each(panels)('draws "$title" in the unit of its metric', ({expression, unit}) => {
    const units = readExpression(expression).uses.map((use) => unitOf(use, expression));
    expect(units.filter((each) => each !== unit)).toEqual([]);
  });
});

/** The unit in Grafana's words. */
function unitOf({metric, functions}: Use, expression: string): string {
  const isRate = functions.includes('rate') && !functions.includes('histogram_quantile');
  if (isRate && expression.includes(' / ')) return 'percentunit';
  if (metric.endsWith('_timestamp_seconds'))
    return expression.startsWith('1000 * ') ? 'dateTimeFromNow' : '';
  if (metric.startsWith('process_cpu')) return 'none';
  if (/_seconds_sum$/.test(metric)) return 'percentunit';
  if (/_bytes_total$/.test(metric)) return 'Bps';
  if (/_bytes$/.test(metric)) return 'bytes';
  if (/_seconds(?:_bucket)?$/.test(metric)) return 's';
  return isRate ? 'reqps' : 'none';
}
