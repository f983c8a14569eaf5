// The expressions of ops/, each with its place.

import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {parse} from 'yaml';
import {z} from 'zod';

/** An expression in PromQL. */
export interface Query {
  readonly file: string;
  readonly title: string;
  readonly expression: string;
}

export interface Rule extends Query {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export interface PanelQuery extends Query {
  /** The row above it. */
  readonly row: string;
  readonly unit: string;
}

const words = z.record(z.string(), z.string());
const rulesFile = z.strictObject({
  groups: z.array(
    z.strictObject({
      name: z.string(),
      rules: z.array(
        z.strictObject({
          alert: z.string().regex(/^Fieldmirror[A-Z]\w+$/),
          expr: z.string(),
          for: z
            .string()
            .regex(/^\d+[smhd]$/)
            .optional(),
          labels: words,
          annotations: words,
        }),
      ),
    }),
  ),
});
const dashboardFile = z.object({
  templating: z.object({list: z.array(z.object({name: z.string(), query: z.string()}))}),
  panels: z.array(
    z.object({
      id: z.int(),
      type: z.enum(['row', 'timeseries', 'stat']),
      title: z.string(),
      description: z.string().optional(),
      gridPos: z.object({x: z.int(), y: z.int(), w: z.int(), h: z.int()}),
      fieldConfig: z.object({defaults: z.object({unit: z.string()})}).optional(),
      targets: z.array(z.object({expr: z.string(), legendFormat: z.string()})).optional(),
    }),
  ),
});

const folder = join(import.meta.dirname, '../../ops');
const read = (file: string) => readFileSync(join(folder, file), 'utf8');

export function listRules(): Rule[] {
  const file = 'alerts.yml';
  return rulesFile.parse(parse(read(file))).groups.flatMap(({rules}) =>
    rules.map(({alert, expr, labels, annotations}) => ({
      file,
      title: alert,
      expression: expr,
      labels,
      annotations,
    })),
  );
}

export function listPanels(): PanelQuery[] {
  const file = 'grafana-dashboard.json';
  const {panels} = dashboardFile.parse(JSON.parse(read(file)));
  let row = '';
  return panels.flatMap(({type, title, fieldConfig, targets = []}) => {
    if (type === 'row') row = title;
    const unit = fieldConfig?.defaults.unit ?? '';
    return targets.map(({expr}) => ({file, title, expression: expr, row, unit}));
  });
}

/** The query that fills the list of accounts, in Grafana's own form. */
export function readAccountQuery(): string | undefined {
  const {templating} = dashboardFile.parse(JSON.parse(read('grafana-dashboard.json')));
  return templating.list.find(({name}) => name === 'account')?.query;
}
