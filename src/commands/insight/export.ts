import {drawDbtSources} from '../../insight/dbt.ts';
import {print} from '../terminal/report.ts';

/** Prints the star as sources of a dbt project. */
export function exportDbt(options: {readonly json: boolean}): number {
  const sources = drawDbtSources();
  print(options.json, {json: {'sources.yml': sources}, text: sources});
  return 0;
}
