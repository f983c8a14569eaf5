import type {Section} from './section.ts';
import {accountsSection} from './sections/accounts.ts';
import {alertsSection} from './sections/alerts.ts';
import {capacitySection} from './sections/capacity.ts';
import {closedDaysSection} from './sections/closed-days.ts';
import {deletionsSection} from './sections/deletions.ts';
import {freshnessSection} from './sections/freshness.ts';
import {hooksSection} from './sections/hooks.ts';
import {insightSection} from './sections/insight.ts';
import {labelsSection} from './sections/labels.ts';
import {promotedFieldsSection} from './sections/promoted-fields.ts';
import {retentionSection} from './sections/retention.ts';
import {schedulesSection} from './sections/schedules.ts';
import {writeRulesSection} from './sections/write-rules.ts';

/** Every section, in the order of an export and of applying: the accounts come first, for others name them. */
export const allSections: readonly Section[] = [
  accountsSection,
  schedulesSection,
  freshnessSection,
  deletionsSection,
  writeRulesSection,
  promotedFieldsSection,
  insightSection,
  capacitySection,
  closedDaysSection,
  labelsSection,
  retentionSection,
  hooksSection,
  alertsSection,
];
