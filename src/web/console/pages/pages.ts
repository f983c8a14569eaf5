import type {Page} from '../page.ts';
import {accountsPage} from './accounts.ts';
import {alertsPage} from './alerts/alerts-page.ts';
import {boardPage} from './business/board-page.ts';
import {businessPage} from './business/index-page.ts';
import {questionPage} from './business/question-page.ts';
import {oneChange} from './changes/change-page.ts';
import {changeList} from './changes/list-page.ts';
import {changePreview} from './changes/preview-page.ts';
import {undoPreview} from './changes/undo-page.ts';
import {fieldsPage} from './fields/fields-page.ts';
import {health} from './health/health-page.ts';
import {overview} from './overview/overview.ts';
import {quarantinePage} from './quarantine/entry-page.ts';
import {quarantineList} from './quarantine/list-page.ts';
import {forgetPage} from './records/forget-page.ts';
import {recordPage} from './records/record-page.ts';
import {searchPage} from './records/search-page.ts';
import {sweepList} from './sweeps/list.ts';
import {sweepPage} from './sweeps/one.ts';

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
