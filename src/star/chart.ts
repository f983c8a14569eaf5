// Charts as SVG texts, drawn without a browser. Each has a title and a sentence for whoever does
// not see it; its table stands beside it in the page.

import {BarChart, HeatmapChart, LineChart} from 'echarts/charts';
import {GridComponent, LegendComponent, VisualMapComponent} from 'echarts/components';
import {type EChartsCoreOption, init, use} from 'echarts/core';
import {SVGRenderer} from 'echarts/renderers';
import {escapeXml} from '../core/text.ts';

use([
  BarChart,
  LineChart,
  HeatmapChart,
  GridComponent,
  LegendComponent,
  VisualMapComponent,
  SVGRenderer,
]);

/** One row of values under the names of a chart's axis; in a heatmap the row itself. */
export interface Series {
  readonly name: string;
  readonly kind: 'bar' | 'line' | 'area';
  readonly values: readonly (number | null)[];
  /** Those of one stack stand on each other. */
  readonly stack?: string;
}

export interface Chart {
  readonly form: 'columns' | 'heatmap';
  readonly title: string;
  /** What the chart shows, in a sentence. */
  readonly sentence: string;
  readonly names: readonly string[];
  readonly series: readonly Series[];
}

const width = 720;
const height = 280;
const rowHeight = 28;
/** Told apart in grey and by people who see red and green alike. */
const colors = ['#1f5f8b', '#e08e0b', '#5b8c5a', '#8c4a6b', '#6b6b6b', '#b5533c'];
/** The colour of the page's text: light, dark and print alike. */
const text = {color: 'currentColor'};

/** @returns an SVG text that takes its text's colour from the page */
export function drawChart(chart: Chart): string {
  const size = {
    width,
    height: chart.form === 'heatmap' ? 96 + rowHeight * chart.series.length : height,
  };
  const drawn = init(null, null, {renderer: 'svg', ssr: true, ...size});
  try {
    drawn.setOption({
      animation: false,
      color: colors,
      textStyle: text,
      ...(chart.form === 'heatmap' ? heatmapOf(chart) : columnsOf(chart)),
    });
    return describe(withoutStyles(drawn.renderToSVGString()), chart);
  } finally {
    drawn.dispose();
  }
}

function columnsOf({names, series}: Chart): EChartsCoreOption {
  return {
    grid: {left: 64, right: 16, top: 32, bottom: 32},
    legend: series.length > 1 ? {top: 0, textStyle: text} : undefined,
    xAxis: {type: 'category', data: [...names], axisLabel: text},
    // A bar that does not begin at zero lies.
    yAxis: {type: 'value', min: 0, axisLabel: text, splitLine: {lineStyle: {opacity: 0.2}}},
    series: series.map(({name, kind, values, stack}) => ({
      name,
      type: kind === 'bar' ? 'bar' : 'line',
      stack,
      symbol: 'none',
      areaStyle: kind === 'area' ? {opacity: 0.7} : undefined,
      data: [...values],
    })),
  };
}

function heatmapOf({names, series}: Chart): EChartsCoreOption {
  const rows = series.toReversed();
  const cells = rows.flatMap(({values}, row) => values.map((value, at) => [at, row, value ?? '-']));
  return {
    grid: {left: 160, right: 16, top: 8, bottom: 72},
    xAxis: {type: 'category', data: [...names], axisLabel: text},
    yAxis: {
      type: 'category',
      data: rows.map(({name}) => name),
      axisLabel: {...text, width: 150, overflow: 'truncate'},
    },
    visualMap: {
      ...{min: 0, max: 100, orient: 'horizontal', left: 'center', bottom: 0, textStyle: text},
      inRange: {color: ['#f2e9d8', '#1f5f8b']},
    },
    series: [{type: 'heatmap', data: cells, label: {show: true}}],
  };
}

/**
 * The same picture without style sheets and style attributes: a page whose policy allows none shows
 * it all the same. A class of the drawing counts up from one picture to the next, and is not needed
 * without them.
 */
function withoutStyles(svg: string): string {
  return svg
    .replaceAll(/<style.*?<\/style>/gs, '')
    .replaceAll(/ class="[^"]*"/g, '')
    .replaceAll(/ style="([^"]*)"/g, (_, declarations: string) => toAttributes(declarations));
}

/** `font-size:12px;` becomes ` font-size="12px"`: SVG has an attribute of the same name. */
function toAttributes(declarations: string): string {
  return declarations
    .split(';')
    .flatMap((declaration) => {
      const [name, value] = declaration.split(':').map((part) => part.trim());
      return name === undefined || value === undefined ? [] : [` ${name}="${value}"`];
    })
    .join('');
}

/** Names the picture for whoever hears it. */
function describe(svg: string, {title, sentence}: Chart): string {
  return svg.replace(
    /<svg([^>]*)>/,
    (_, rest: string) =>
      `<svg${rest} role="img">` +
      `<title>${escapeXml(title)}</title><desc>${escapeXml(sentence)}</desc>`,
  );
}
