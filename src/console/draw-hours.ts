import {html, type SafeHtml} from '@remix-run/html-template';
import type {OverviewStory} from '../alerts/overview.ts';
import type {Hour} from '../health/sweep-activity.ts';
import type {Chart} from '../star/chart.ts';
import {drawFigure} from './draw-figure.ts';
import {showMinute} from './draw-time.ts';
import type {Look} from './look.ts';

/** Reads and writes of the last day, as two histograms. */
export function drawHours({hours}: OverviewStory, look: Look): SafeHtml {
  const names = hours.map(({from}) => showMinute(from, look.timeZone).slice(11));
  return html`<h2>The last day</h2><div class="cards">
    ${drawFigure(
      chartOf(
        'Records read',
        'Records that sweeps read in each hour, and those of them that brought something new.',
        {
          names,
          hours,
          series: [
            ['read', ({read}) => read],
            ['new, changed or gone', ({changed}) => changed],
          ],
        },
      ),
    )}
    ${drawFigure(
      chartOf('Changes carried', 'Changes made here that came to their end in each hour.', {
        names,
        hours,
        series: [
          ['done', ({done}) => done],
          ['refused', ({refused}) => refused],
        ],
      }),
    )}
  </div>`;
}

interface Histogram {
  readonly names: readonly string[];
  readonly hours: readonly Hour[];
  readonly series: readonly (readonly [name: string, value: (hour: Hour) => number])[];
}

function chartOf(title: string, sentence: string, {names, hours, series}: Histogram): Chart {
  return {
    ...{form: 'columns', title, sentence, names},
    series: series.map(([name, value]) => ({name, kind: 'bar', values: hours.map(value)})),
  };
}
