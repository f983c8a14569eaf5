// The script that brings the answers into Metabase, with the questions of this version in it.

import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {boards, drawings} from '../star/boards.ts';
import type {Question} from '../star/member.ts';
import {questions} from '../star/star.ts';

/** A question as Metabase saves one. */
interface Saved {
  /** By which the script finds it again. */
  readonly key: string;
  readonly name: string;
  readonly description: string;
  /** The statement, up to its condition. */
  readonly select: string;
  readonly order: string;
  readonly display: string;
  readonly settings: Readonly<Record<string, unknown>>;
}

/** Each dashboard begins with it: a figure says nothing without its age. */
const freshness: Saved = {
  key: 'freshness',
  name: 'How old are these figures?',
  description: 'When the jobs were last proven complete, and what the figures do not hold yet.',
  select:
    'SELECT name, jobs_fresh_as_of, waiting, since FROM mart.dim_account CROSS JOIN mart.freshness',
  order: 'name',
  display: 'table',
  settings: {},
};

/** The line of the script in whose place the questions come. */
const placeholder = 'const catalogue = {questions: [], dashboards: []};';

/** A program for Node, whole in itself, that sets up a Metabase by its HTTP API. */
export function drawMetabase(): string {
  const script = readFileSync(join(import.meta.dirname, 'metabase-setup.mjs'), 'utf8');
  const catalogue = {
    questions: [freshness, ...questions.map(saveQuestion)],
    dashboards: boards.map(({name, title, sentence, questions: asked}) => ({
      key: name,
      name: title,
      description: sentence,
      questions: [freshness.key, ...asked],
    })),
  };
  // A function in place of the text: `$` in a question means itself.
  return script.replace(
    placeholder,
    () => `const catalogue = ${JSON.stringify(catalogue, null, 2)};`,
  );
}

function saveQuestion(question: Question): Saved {
  const {name, question: asked, definition, caveats, order} = question;
  const described = {key: name, name: asked, description: `${definition} ${caveats}`};
  const select = `SELECT * FROM mart.${name}`;
  const drawing = drawings[name];
  if (drawing === undefined) return {...described, select, order, display: 'table', settings: {}};
  const {along, series, isStacked = false} = drawing;
  const kinds = Object.entries(series);
  const [first] = new Set(kinds.map(([, kind]) => kind));
  const isMixed = kinds.some(([, kind]) => kind !== first);
  return {
    ...described,
    ...{select, order: along, display: isMixed ? 'combo' : (first ?? 'table')},
    settings: {
      'graph.dimensions': [along],
      'graph.metrics': kinds.map(([column]) => column),
      // Metabase knows dates by their type; what is no date has a place of its own for each value.
      ...(['place', 'name'].includes(along) ? {'graph.x_axis.scale': 'ordinal'} : {}),
      ...(isStacked ? {'stackable.stack_type': 'stacked'} : {}),
      ...(isMixed
        ? {
            series_settings: Object.fromEntries(
              kinds.map(([column, display]) => [column, {display}]),
            ),
          }
        : {}),
    },
  };
}
