import {accountsSection} from './accounts-section.ts';
import {alertsSection} from './alerts-section.ts';
import {capacitySection} from './capacity-section.ts';
import {closedDaysSection} from './closed-days-section.ts';
import {deletionsSection} from './deletions-section.ts';
import {freshnessSection} from './freshness-section.ts';
import {hooksSection} from './hooks-section.ts';
import {insightSection} from './insight-section.ts';
import {labelsSection} from './labels-section.ts';
import {promotedFieldsSection} from './promoted-fields-section.ts';
import {retentionSection} from './retention-section.ts';
import {schedulesSection} from './schedules-section.ts';
import type {Section} from './section.ts';
import {writeRulesSection} from './write-rules-section.ts';

/**
 * Every section, in the order of an export and of applying: the accounts come first, for others
 * name them.
 */
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
