import {html} from '@remix-run/html-template';
import {drawMark, type Tone} from '../draw/mark.ts';
import {drawTable} from '../draw/table.ts';
import type {Page} from '../page.ts';
import {definePage} from '../page.ts';
import type {Check} from '../serve/doings.ts';

const tones: Readonly<Record<Check['state'], Tone>> = {good: 'good', warning: 'warning', bad: 'bad'};

export const health: Page = definePage({
  path: '/health',
  section: '/health',
  moving: [],
  read: async ({doings}) => ({checks: await doings.examine()}),
  title: () => 'Health',
  draw: ({checks}) => html`
    <p class="lead">${summarise(checks)}</p>
    ${drawTable({
      caption: 'Every dependency, checked just now',
      columns: ['verdict', 'checked', 'found'],
      rows: checks.map(({what, state, found}) => [drawMark(tones[state], state), what, found]),
      none: 'Nothing was checked.',
    })}`,
  elsewhere: () => ({
    command: 'fieldmirror doctor',
    sql: 'SELECT * FROM sync.workers ORDER BY seen_at DESC;',
  }),
});

function summarise(checks: readonly Check[]): string {
  const flawed = checks.filter(({state}) => state !== 'good').length;
  return flawed === 0 ? 'Everything answers as it should.' : `${flawed} of ${checks.length} need a look.`;
}
