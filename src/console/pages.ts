import {accountsPage} from './accounts-page.ts';
import {alertsPage} from './alerts-page.ts';
import {boardPage} from './board-page.ts';
import {businessPage} from './business-page.ts';
import {oneChange} from './change-page.ts';
import {changePreview} from './change-preview-page.ts';
import {changeList} from './changes-page.ts';
import {undoPreview} from './changes-undo-page.ts';
import {fieldsPage} from './fields-page.ts';
import {forgetPage} from './forget-customer-page.ts';
import {health} from './health-page.ts';
import {overview} from './overview-page.ts';
import type {Page} from './page.ts';
import {quarantinePage} from './quarantine-entry-page.ts';
import {quarantineList} from './quarantine-page.ts';
import {questionPage} from './question-page.ts';
import {recordPage} from './record-page.ts';
import {searchPage} from './record-search-page.ts';
import {sweepPage} from './sweep-page.ts';
import {sweepList} from './sweeps-page.ts';

/** Every page of the console. */
export const pages: readonly Page[] = [
  overview,
  businessPage,
  boardPage,
  questionPage,
  sweepList,
  sweepPage,
  quarantineList,
  quarantinePage,
  searchPage,
  recordPage,
  forgetPage,
  fieldsPage,
  changeList,
  changePreview,
  undoPreview,
  oneChange,
  accountsPage,
  alertsPage,
  health,
];
