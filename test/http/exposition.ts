// Prometheus' text format 0.0.4, read strictly: what does not match a rule of it throws.

/** One line with a value. */
export interface Line {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric with its lines; those of a histogram end in `_bucket`, `_sum` and `_count`. */
export interface Family {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  readonly lines: Line[];
}

export type Exposition = ReadonlyMap<string, Family>;

const name = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const label = '([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\\\\n]|\\\\["\\\\n])*)"';
const lineForm = new RegExp(`^(${name})(?:\\{((?:${label},?)*)\\})? (\\S+)$`);
const numberForm = /^(?:NaN|[+-]?Inf|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)$/;
const endings: Readonly<Record<string, readonly string[]>> = {
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['', '_sum', '_count'],
};

/**
 * @throws {Error} a line that is none, a metric without its type or told twice, a series that comes
 * twice
 */
export function readExposition(text: string): Exposition {
  if (!text.endsWith('\n')) throw new Error('expected a line feed at the end');
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  let here: Family | undefined;
  for (const line of text.split('\n').filter((each) => each !== '')) {
    const [, kind, subject = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.+)$/.exec(line) ?? [];
    if (kind === 'HELP') {
      if (families.has(subject)) throw new Error(`${subject}: told twice`);
      here = {name: subject, type: '', help: rest, lines: []};
    } else if (kind === 'TYPE') {
      if (here?.name !== subject) throw new Error(`${subject}: its type does not follow its help`);
      here = {...here, type: rest};
      families.set(subject, here);
    } else addLine(here, readLine(line), seen);
  }
  return families;
}

function addLine(family: Family | undefined, line: Line, seen: Set<string>): void {
  const isOwn = (endings[family?.type ?? ''] ?? ['']).some(
    (ending) => line.name === family?.name + ending,
  );
  if (family === undefined || !isOwn) throw new Error(`${line.name}: not under its own type`);
  const series = JSON.stringify([line.name, Object.entries(line.labels).toSorted()]);
  if (seen.has(series)) throw new Error(`${series}: told twice`);
  seen.add(series);
  family.lines.push(line);
}

function readLine(line: string): Line {
  const [, subject = '', inside = ''] = lineForm.exec(line) ?? [];
  const value = line.slice(line.lastIndexOf(' ') + 1);
  if (subject === '' || !numberForm.test(value))
    throw new Error(`expected a line with a value, got ${line}`);
  const labels = [...inside.matchAll(new RegExp(label, 'g'))].map(([, key = '', text = '']) => [
    key,
    text.replace(/\\(["\\n])/g, (_all, sign: string) => (sign === 'n' ? '\n' : sign)),
  ]);
  return {
    name: subject,
    labels: Object.fromEntries(labels),
    value: Number(value.replace('Inf', 'Infinity')),
  };
}

/** The value of one series; undefined where it is not told. Every label must be named. */
export function figureOf(
  exposition: Exposition,
  metric: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const wanted = JSON.stringify(Object.entries(labels).toSorted());
  return exposition
    .get(metric)
    ?.lines.find((line) => JSON.stringify(Object.entries(line.labels).toSorted()) === wanted)
    ?.value;
}
