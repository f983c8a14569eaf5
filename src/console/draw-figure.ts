import {html, type SafeHtml} from '@remix-run/html-template';
import {type Chart, drawChart} from '../star/chart.ts';
import {drawTable} from './draw-table.ts';

/** Drawings of the last few hundred charts: one takes 40 ms, and most are asked for again. */
const drawn = new Map<string, string>();
const mostDrawn = 300;

/** A chart with its title, the sentence that says what it shows, and the table behind it. */
export function drawFigure(chart: Chart): SafeHtml {
  const {title, sentence, names, series} = chart;
  return html`<figure class="card"><strong>${title}</strong>
    ${html.raw`${drawOnce(chart)}`}
    <figcaption>${sentence}</figcaption>
    <details><summary>As a table</summary>${drawTable({
      caption: title,
      columns: ['', ...series.map(({name}) => ({head: name, kind: 'number' as const}))],
      rows: names.map((name, at) => [name, ...series.map(({values}) => values[at] ?? null)]),
      none: 'There is nothing to show.',
    })}</details></figure>`;
}

/** An SVG of our own chart module, which escapes what it is given. */
function drawOnce(chart: Chart): string {
  const key = JSON.stringify(chart);
  const held = drawn.get(key);
  if (held !== undefined) return held;
  const svg = drawChart(chart);
  const [oldest] = drawn.keys();
  if (drawn.size >= mostDrawn && oldest !== undefined) drawn.delete(oldest);
  drawn.set(key, svg);
  return svg;
}
