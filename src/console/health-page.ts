import {html, type SafeHtml} from '@remix-run/html-template';
import type {Check, SettingTold} from './doings.ts';
import {drawMark, type Tone} from './draw-mark.ts';
import {drawSettings} from './draw-settings.ts';
import {drawTable} from './draw-table.ts';
import type {Page} from './page.ts';
import {definePage, hidden} from './page.ts';

interface Story {
  /**
   * Those of the accounts that the viewer sees; to who sees every account, those of the
   * installation as well.
   */
  readonly checks: readonly Check[];
  /** Null for somebody who is bound to an account: settings name the others, too. */
  readonly settings: readonly SettingTold[] | null;
}

const tones: Readonly<Record<Check['state'], Tone>> = {
  good: 'good',
  warning: 'warning',
  bad: 'bad',
};

export const health: Page = definePage<Story>({
  path: '/health',
  section: '/health',
  moving: [],
  read: async ({doings, seen, seesAll}) => ({
    checks: (await doings.examine()).filter(
      ({account}) => seesAll || seen.some(({name}) => name === account),
    ),
    settings: seesAll ? await doings.listSettings() : null,
  }),
  title: () => 'Health',
  draw: ({checks, settings}) => html`
    <p class="lead">${summarise(checks)}</p>
    ${drawChecks(checks)}
    <h2>Settings in force</h2>
    ${settings === null ? html`<p>Settings, and checks of the whole installation, are shown to those who see every account.</p>` : drawSettings(settings)}`,
  hide: ({checks, settings}) => ({
    checks,
    settings:
      settings?.map((setting) => (isMailbox(setting) ? {...setting, value: hidden} : setting)) ??
      null,
  }),
  elsewhere: () => ({
    command: 'fieldmirror doctor',
    sql: 'SELECT * FROM sync.workers ORDER BY seen_at DESC;\nSELECT * FROM sync.file_settings;',
  }),
});

/** The address of a rule by e-mail is a person's. */
function isMailbox({name}: SettingTold): boolean {
  return /^alerts \/ \S+ \/ to$/.test(name);
}

function summarise(checks: readonly Check[]): string {
  const flawed = checks.filter(({state}) => state !== 'good').length;
  if (flawed === 0) return 'Everything answers as it should.';
  return `${flawed} of ${checks.length} ${flawed === 1 ? 'needs' : 'need'} a look.`;
}

function drawChecks(checks: readonly Check[]): SafeHtml {
  return drawTable({
    caption: 'Every dependency, checked just now',
    columns: ['verdict', 'checked', 'found'],
    rows: checks.map(({what, state, found}) => [drawMark(tones[state], state), what, found]),
    none: 'Nothing was checked.',
  });
}
