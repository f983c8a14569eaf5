// The page of health: every dependency, checked when the page is read, and every active setting.

import {html, type SafeHtml} from '@remix-run/html-template';
import {formatNumber} from '../core/format.ts';
import type {Tone} from '../core/text.ts';
import {
  definePage,
  hidden,
  type Page,
  type PageContext,
  type RunCheck,
  type ShownSetting,
} from './page.ts';
import {renderBanner, renderMark, renderProse, renderTable} from './render.ts';

interface Story {
  /**
   * The checks of the accounts that the viewer sees. A viewer who sees every account also gets the
   * checks of the installation.
   */
  readonly checks: readonly RunCheck[];
  /** Null for a viewer who is bound to an account, because settings name other accounts, too. */
  readonly settings: readonly ShownSetting[] | null;
}

const checkTones: Readonly<Record<RunCheck['state'], Tone>> = {
  good: 'good',
  warning: 'warning',
  bad: 'bad',
};

export const healthPage: Page = definePage<Story>({
  path: '/health',
  section: '/health',
  moving: [],
  read: async ({services, seen, seesAll}) => ({
    checks: (await services.examine()).filter(
      ({account}) => seesAll || seen.some(({name}) => name === account),
    ),
    settings: seesAll ? await services.listSettings() : null,
  }),
  title: () => 'Health',
  render: ({checks, settings}, context) => html`
    ${renderBanner(isWell(checks), describeChecks(checks))}
    ${renderChecks(checks, context)}
    <h2>Active settings</h2>
    ${
      settings === null
        ? html`<p>Settings, and checks of the whole installation, are shown to those who see
            every account.</p>`
        : renderSettings(settings)
    }`,
  hide: ({checks, settings}) => ({
    checks,
    settings:
      settings?.map((setting) => (isMailbox(setting) ? {...setting, value: hidden} : setting)) ??
      null,
  }),
  elsewhere: () => ({
    command: 'fieldmirror doctor',
    sql: 'SELECT * FROM sync.workers ORDER BY seen_at DESC;',
  }),
});

/** Whether a setting is the address of an alert rule: an e-mail address there is a person's. */
function isMailbox({name}: ShownSetting): boolean {
  return /^alerts \/ \S+ \/ to$/.test(name);
}

function isWell(checks: readonly RunCheck[]): boolean {
  return checks.every(({state}) => state === 'good');
}

function describeChecks(checks: readonly RunCheck[]): string {
  const problemCount = checks.filter(({state}) => state !== 'good').length;
  if (problemCount === 0) return 'Everything answers as it should.';
  const noun = checks.length === 1 ? 'check' : 'checks';
  return `${problemCount} of ${checks.length} ${noun} found something.`;
}

/** Checks that found something come first. */
function renderChecks(checks: readonly RunCheck[], context: PageContext): SafeHtml {
  return renderTable({
    caption: 'Every dependency, checked just now',
    columns: [
      {head: 'verdict', isTitle: true},
      {head: 'checked', isTitle: true},
      {head: 'found', isTitle: true},
    ],
    isStacked: true,
    rows: checks
      .toSorted((one, other) => Number(one.state === 'good') - Number(other.state === 'good'))
      .map(({what, state, found: finding}) => [
        renderMark(checkTones[state], state),
        what,
        renderProse(finding, context),
      ]),
    none: 'Nothing was checked.',
  });
}

/** A page stays under 60 kB; JSON has all. */
const mostRows = 150;

/** The settings that were set, and those at their defaults folded away. */
function renderSettings(settings: readonly ShownSetting[]): SafeHtml {
  const configured = settings.filter(({source}) => source !== 'default');
  const defaults = settings.filter(({source}) => source === 'default');
  const none = 'None was set: all are at their defaults.';
  return html`${renderRows('Settings that were set, and by what', configured, none)}
    <details><summary>${formatNumber(defaults.length)} at their defaults</summary>${renderRows(
      'Settings at their defaults',
      defaults,
      'None.',
    )}</details>`;
}

function renderRows(caption: string, settings: readonly ShownSetting[], none: string): SafeHtml {
  const restCount = settings.length - mostRows;
  return html`${renderTable({
    caption,
    isStacked: true,
    columns: [{head: 'setting', isTitle: true}, {head: 'value', kind: 'code'}, 'from'],
    rows: settings
      .slice(0, mostRows)
      .map(({name, value, source, file}) => [
        name,
        html`<span class="value">${value}</span>`,
        file ?? sourceLabels[source],
      ]),
    none,
  })}${
    restCount > 0
      ? html`<p class="quiet">and ${formatNumber(restCount)} more; as JSON has all</p>`
      : ''
  }`;
}

const sourceLabels: Readonly<Record<ShownSetting['source'], string>> = {
  environment: 'the environment of this process',
  file: 'a file',
  default: 'the default',
  warehouse: 'the warehouse: a verb, a file, or SQL',
};
