import type {SettingsPlan} from '../settings/plan-settings.ts';
import type {Path, Value} from '../settings/settings-tree.ts';
import {drawTable} from './report.ts';
import {wrap} from './wrap-text.ts';

/** More places than these are told as a number. */
const fewPlaces = 20;

/** What a plan comes to: for a program, and for the drawing. */
export function tellPlan({sections}: SettingsPlan) {
  return {
    differences: sections.flatMap(({section, differences}) =>
      differences.map(({path, from, to}) => ({
        section: section.name,
        key: path.join(' / '),
        from,
        to,
      })),
    ),
    overridden: sections.flatMap(({section, overridden}) =>
      overridden.map(({path, inFile, inEnvironment}) => ({
        section: section.name,
        key: path.join(' / '),
        inFile,
        inEnvironment,
      })),
    ),
    unnamed: sections.flatMap(({section, unnamed}) =>
      unnamed.map((path) => place([section.name, ...path])),
    ),
  };
}

/** A plan as it is told. */
interface Told extends ReturnType<typeof tellPlan> {
  /** Sentences on the requests that it costs. */
  readonly costs: readonly string[];
}

/** @param done - told above the differences */
export function drawPlan({differences, overridden, unnamed, costs}: Told, done: string): string {
  const rows = differences.map(({section, key, from, to}) => [section, key, show(from), show(to)]);
  const changes = rows.length === 0 ? [] : [drawTable(['section', 'key', 'from', 'to'], rows)];
  const stronger = overridden.map(
    ({section, key, inFile, inEnvironment}) =>
      `${section} / ${key}: the environment goes before the file: ${show(inEnvironment)}, not ${show(inFile)}`,
  );
  return [
    done,
    ...changes,
    ...costs.map((cost) => wrap(cost)),
    ...stronger,
    ...drawUnnamed(unnamed),
  ].join('\n');
}

function drawUnnamed(unnamed: readonly string[]): string[] {
  if (unnamed.length === 0) return [];
  const rest = unnamed.length > fewPlaces ? ` and ${unnamed.length - fewPlaces} more` : '';
  return [
    `left alone, for the file does not name it: ${unnamed.slice(0, fewPlaces).join(', ')}${rest}`,
  ];
}

function place(path: Path): string {
  return path.join(' / ');
}

function show(value: Value | null): string {
  if (value === null) return '(none)';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
