// Charts as SVG texts, rendered without a browser. Each has a title and a sentence for readers who
// cannot see it; its table is beside it in the page.

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
  /** Series with the same stack are stacked. */
  readonly stack?: string;
}

export interface Chart {
  /** `rows` has horizontal bars, each beside its name. */
  readonly form: 'columns' | 'rows' | 'heatmap';
  readonly title: string;
  /** A description of the chart, in a sentence. */
  readonly sentence: string;
  readonly names: readonly string[];
  readonly series: readonly Series[];
  /** Addresses that the names of `rows` link to; null: none. */
  readonly links?: readonly (string | null)[];
}

/**
 * A chart is rendered for a phone and for a wider place, and the page shows one of them by its
 * width. So its text is never smaller than 11 pixels. Sizes are in pixels of the chart.
 */
const sizes = {narrow: {width: 300, height: 220}, wide: {width: 480, height: 240}} as const;
type Size = keyof typeof sizes;

/** Rules of a page that shows charts: each chart is in a `figure`, whose width selects the size. */
export const chartStyle = `
  figure { container-type: inline-size; }
  figure svg { display: block; width: 100%; height: auto; max-width: 42rem; }
  figure svg.wide { display: none; }
  @container (min-width: 27.5rem) {
    figure svg.narrow { display: none; } figure svg.wide { display: block; }
  }`;

const rowHeight = 24;
const lineHeight = 22;
/** These colours can be distinguished in grey, and by people who cannot tell red from green. */
const colors = ['#1f5f8b', '#e08e0b', '#5b8c5a', '#8c4a6b', '#6b6b6b', '#b5533c'];
/** The colour of the page's text: light, dark and print alike. */
const textStyle = {color: 'currentColor', fontSize: 12};
const compactNumber = new Intl.NumberFormat('en', {notation: 'compact'});
const valueLabel = {...textStyle, formatter: (value: number) => compactNumber.format(value)};

/** @returns two SVG texts, of the classes `narrow` and `wide`, in the colour of the page's text */
export function renderChart(chart: Chart): string {
  return renderAt(chart, 'narrow') + renderAt(chart, 'wide');
}

function renderAt(chart: Chart, size: Size): string {
  const {width, height} = sizes[size];
  const instance = init(null, null, {
    renderer: 'svg',
    ssr: true,
    width,
    height: chart.form === 'columns' ? height : 72 + rowHeight * countRows(chart),
  });
  try {
    instance.setOption({
      animation: false,
      color: colors,
      textStyle,
      ...buildOptions(chart, size),
    });
    const svg = shortenSvg(removeStyles(instance.renderToSVGString()));
    return addDescription(linkNames(svg, chart), chart, size);
  } finally {
    instance.dispose();
  }
}

function countRows({form, names, series}: Chart): number {
  return form === 'rows' ? names.length : series.length;
}

function buildOptions(chart: Chart, size: Size): EChartsCoreOption {
  if (chart.form === 'heatmap') return buildHeatmapOptions(chart, size);
  const {form, names, series} = chart;
  const isUpright = form === 'columns';
  const categoryAxis = {
    type: 'category',
    data: names.map(createMonthShortener(names)),
    inverse: !isUpright,
    axisLabel: isUpright ? textStyle : {...textStyle, ...buildLabelStyle(size), interval: 0},
  };
  // A bar that does not begin at zero misleads.
  const valueAxis = {
    type: 'value',
    min: 0,
    axisLabel: valueLabel,
    splitNumber: size === 'wide' ? 5 : 4,
    minInterval: series.every((oneSeries) => oneSeries.values.every(isWhole)) ? 1 : 0,
    splitLine: {lineStyle: {opacity: 0.2}},
  };
  return {
    grid: {
      // Half a name of the axis may be outside at the right.
      left: isUpright ? 12 : 2,
      right: isUpright ? 28 : 16,
      bottom: 2,
      top: 10 + lineHeight * countLegendLines(chart, size),
      outerBoundsMode: 'same',
      outerBoundsContain: 'axisLabel',
    },
    legend: series.length > 1 ? {top: 0, left: 0, itemWidth: 16, textStyle} : undefined,
    xAxis: isUpright ? categoryAxis : valueAxis,
    yAxis: isUpright ? valueAxis : categoryAxis,
    series: series.map(({name, kind, values: data, stack}) => ({
      name,
      stack,
      symbol: 'none',
      data: [...data],
      type: kind === 'bar' ? 'bar' : 'line',
      areaStyle: kind === 'area' ? {opacity: 0.7} : undefined,
    })),
  };
}

const isWhole = (value: number | null) => value === null || Number.isInteger(value);
const buildLabelStyle = (size: Size) => ({width: size === 'wide' ? 150 : 96, overflow: 'truncate'});

/** Shortens months, which are named by their first days, to year and month. */
function createMonthShortener(names: readonly string[]): (name: string) => string {
  const areMonths = names.length > 1 && names.every((name) => /^\d{4}-\d{2}-01$/.test(name));
  return (name) => (areMonths ? name.slice(0, 7) : name);
}

/** Lines that a legend takes: a letter is about 7 pixels wide. */
function countLegendLines({series}: Chart, size: Size): number {
  if (series.length < 2) return 0;
  let [lines, usedWidth] = [1, 0];
  for (const {name} of series) {
    const neededWidth = 32 + 7 * name.length;
    if (usedWidth > 0 && usedWidth + neededWidth > sizes[size].width)
      [lines, usedWidth] = [lines + 1, 0];
    usedWidth += neededWidth;
  }
  return lines;
}

function buildHeatmapOptions({names, series}: Chart, size: Size): EChartsCoreOption {
  const rows = series.toReversed();
  const heatmapCells = rows.flatMap(({values}, row) =>
    values.map((value, index) => [index, row, value ?? '-']),
  );
  return {
    grid: {left: buildLabelStyle(size).width + 8, right: 2, top: 2, bottom: 72},
    xAxis: {type: 'category', data: [...names], axisLabel: textStyle},
    yAxis: {
      type: 'category',
      data: rows.map(({name}) => name),
      axisLabel: {...textStyle, ...buildLabelStyle(size)},
    },
    visualMap: {
      min: 0,
      max: 100,
      orient: 'horizontal',
      left: 'center',
      bottom: 0,
      textStyle,
      inRange: {color: ['#f2e9d8', '#1f5f8b']},
    },
    series: [{type: 'heatmap', data: heatmapCells, label: {show: size === 'wide'}}],
  };
}

/**
 * The same picture without style sheets and style attributes, so that a page whose policy forbids
 * them still shows it. The class names count up from one picture to the next, and only style sheets
 * need them. Attributes for scripts, and attributes that each text repeats from the whole, are
 * removed, too. A page may set its own colours for a dark background.
 */
function removeStyles(svg: string): string {
  return svg
    .replaceAll(/<style.*?<\/style>/gs, '')
    .replaceAll(/ (?:class|pointer-events|ecmeta_\w+)="[^"]*"/g, '')
    .replaceAll(/ (?:version|baseProfile|xmlns:xlink)="[^"]*"/g, '')
    .replaceAll('\n', '')
    .replaceAll(/ style="([^"]*)"/g, (_, declarations: string) => toAttributes(declarations))
    .replaceAll(' font-size="12px" font-family="sans-serif"', '')
    .replaceAll(/><\/(?:path|rect)>/g, '/>')
    .replaceAll(/"(#[0-9a-f]{6})"/g, (match, color: string) => {
      const at = colors.indexOf(color);
      return at === -1 ? match : `"var(--series-${at + 1},${color})"`;
    });
}

const number = '-?[\\d.]+';
/** A point between two others of the same height. */
const middlePointPattern = new RegExp(
  `(?<=[ML]${number} (${number}))L${number} \\1(?=L${number} \\1[LZ"])`,
  'g',
);
const translatePattern = new RegExp(
  `(?: x="(${number})")?(?: y="(${number})")? transform="translate\\((${number}) (${number})\\)"`,
  'g',
);

/**
 * The same picture in fewer characters. Attributes that all texts share are written once, by
 * `addDescription`. Neighbouring paths with the same look become one path.
 */
function shortenSvg(svg: string): string {
  return svg
    .replaceAll(/<rect [^>]*fill="none"\/>/g, '')
    .replaceAll(/<text [^>]*>/g, (tag) =>
      tag
        .replaceAll(/ (?:dominant-baseline="central"|fill="currentColor")/g, '')
        .replaceAll(translatePattern, (_, x = 0, y = 0, right = 0, down = 0) => {
          const position = [Number(x) + Number(right), Number(y) + Number(down)] as const;
          return ` x="${round(position[0])}" y="${round(position[1])}"`;
        }),
    )
    .replaceAll(middlePointPattern, '')
    .replaceAll(new RegExp(`l(${number}) 0(?=[lLZ])`, 'g'), 'h$1')
    .replaceAll(new RegExp(`l0 (${number})(?=[hlLZ])`, 'g'), 'v$1')
    .replaceAll(new RegExp(`(M${number} (${number}))L(${number}) \\2(?=")`, 'g'), '$1H$3')
    .replaceAll(/<path d="([^"]*)"([^>]*)\/>(?:<path d="[^"]*"\2\/>)+/g, (paths, _, attributes) =>
      paths.replaceAll(`"${attributes}/><path d="`, ''),
    );
}

const round = (pixels: number) => Math.round(pixels * 10) / 10;

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

/**
 * Turns the names beside the bars into links. If a name is cut off, its title has the whole name.
 * An empty name has no text.
 */
function linkNames(svg: string, {form, names, links}: Chart): string {
  if (form !== 'rows' || links === undefined) return svg;
  const rows = names.flatMap((name, index) => (name === '' ? [] : [{name, to: links[index]}]));
  return svg.replaceAll(/<text text-anchor="end"[^>]*>([^<]*)<\/text>/g, (label, shownText) => {
    const {name = '', to} = rows.shift() ?? {};
    if (typeof to !== 'string') return label;
    const title = shownText === escapeXml(name) ? '' : `<title>${escapeXml(name)}</title>`;
    return `<a href="${escapeXml(to)}">${title}${label}</a>`;
  });
}

/** Names the picture for screen readers; they would not read links within a mere image. */
function addDescription(svg: string, {title, sentence, links}: Chart, size: Size): string {
  return svg.replace(
    /<svg([^>]*)>/,
    (_, attributes: string) =>
      `<svg${attributes} class="${size}" role="${links === undefined ? 'img' : 'group'}" ` +
      'font-size="12" font-family="sans-serif" ' +
      'fill="currentColor" dominant-baseline="central">' +
      `<title>${escapeXml(title)}</title><desc>${escapeXml(sentence)}</desc>`,
  );
}
