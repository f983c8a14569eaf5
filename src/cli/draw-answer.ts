import type {Answer} from '../star/answer.ts';
import {drawTable} from './report.ts';

/** The rows of an answer for a person at a terminal. */
export function drawAnswer({
  json: {rows, isCutOff},
  drawn: {head, cells, numbers},
}: Answer): string {
  const more = isCutOff ? `\nthe first ${rows.length}: --limit shows more` : '';
  return `${
    rows.length === 0
      ? 'nothing'
      : drawTable(
          [...head],
          cells.map((row) => [...row]),
          [...numbers],
        )
  }${more}`;
}
