import {html, type SafeHtml} from '@remix-run/html-template';
import {formatNumber} from '../core/format.ts';
import type {SettingTold} from './doings.ts';
import {drawTable} from './draw-table.ts';

/** A page stays under 150 kB. */
const mostRows = 300;

/** The settings that somebody has set, and those at their defaults folded away. */
export function drawSettings(settings: readonly SettingTold[]): SafeHtml {
  const set = settings.filter(({source}) => source !== 'default');
  const defaults = settings.filter(({source}) => source === 'default');
  return html`${drawRows('Settings that were set, and by what', set, 'None was set: all are at their defaults.')}
    <details><summary>${formatNumber(defaults.length)} at their defaults</summary>${drawRows('Settings at their defaults', defaults, 'None.')}</details>`;
}

function drawRows(caption: string, settings: readonly SettingTold[], none: string): SafeHtml {
  const left = settings.length - mostRows;
  return html`${drawTable({
    caption,
    columns: ['setting', {head: 'value', kind: 'code'}, 'from'],
    rows: settings
      .slice(0, mostRows)
      .map(({name, value, source, file}) => [
        name,
        html`<span class="value">${value}</span>`,
        file ?? words[source],
      ]),
    none,
  })}${left > 0 ? html`<p class="quiet">and ${formatNumber(left)} more; as JSON has all</p>` : ''}`;
}

const words: Readonly<Record<SettingTold['source'], string>> = {
  environment: 'the environment of this process',
  file: 'a file',
  default: 'the default',
  warehouse: 'the warehouse: a verb, or SQL',
};
