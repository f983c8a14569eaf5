// The parts of a PromQL expression that can be held against an exporter: not a parser of the
// language, but strict about the part that our own rules and panels use.

export interface Matcher {
  readonly label: string;
  readonly operator: '=' | '!=' | '=~' | '!~';
  readonly value: string;
}

/** A metric as an expression uses it. */
export interface Use {
  readonly metric: string;
  readonly matchers: readonly Matcher[];
  /** The functions around it, the innermost first. */
  readonly functions: readonly string[];
}

export interface Expression {
  readonly uses: readonly Use[];
  /** The labels by which results are grouped and joined. */
  readonly groups: readonly string[];
}

const token = new RegExp(
  [
    /\s+/,
    /(?<range>\[[^\]]*\])/,
    /(?<text>"(?:[^"\\]|\\.)*")/,
    /(?<word>[a-zA-Z_:$][\w:]*)/,
    /(?<number>\d[\w.]*)/,
    /(?<sign>=~|!~|!=|==|>=|<=|[-+*/%^(){},=<>])/,
  ]
    .map(({source}) => source)
    .join('|'),
  'gy',
);
const grouping: ReadonlySet<string> = new Set([
  'by',
  'on',
  'without',
  'ignoring',
  'group_left',
  'group_right',
]);
const joining: ReadonlySet<string> = new Set(['and', 'or', 'unless', 'bool', 'offset']);

interface Token {
  readonly kind: string;
  readonly text: string;
}

/** @throws {Error} a character that no expression of ours has */
export function readExpression(expression: string): Expression {
  const tokens = tokenise(expression);
  const uses: Use[] = [];
  const groups: string[] = [];
  const around: string[] = [];
  for (let at = 0; at < tokens.length; at++) {
    const {kind, text} = tokens[at] ?? {kind: '', text: ''};
    const next = tokens[at + 1]?.text;
    if (kind === 'word' && grouping.has(text)) {
      const end = tokens.findIndex((each, place) => place > at && each.text === ')');
      groups.push(...wordsOf(tokens.slice(at, end)).slice(1));
      // `max by (account) (…)`: the function before is around what follows.
      if (tokens[end + 1]?.text === '(') {
        const before = tokens[at - 1];
        around.push(before?.kind === 'word' ? before.text : '');
        at = end + 1;
      } else at = end;
    } else if (kind === 'word' && !joining.has(text) && next !== '(' && !grouping.has(next ?? '')) {
      const end =
        next === '{' ? tokens.findIndex((each, place) => place > at && each.text === '}') : at;
      const functions = around.filter((name) => name !== '').toReversed();
      uses.push({metric: text, matchers: readMatchers(tokens.slice(at + 2, end)), functions});
      at = end;
    } else if (text === '(') {
      const before = tokens[at - 1];
      around.push(before?.kind === 'word' && !joining.has(before.text) ? before.text : '');
    } else if (text === ')') around.pop();
  }
  return {uses, groups};
}

function readMatchers(tokens: readonly Token[]): Matcher[] {
  const labels = tokens.filter(({text}) => text !== ',');
  return Array.from({length: labels.length / 3}, (_, at) => {
    const [label, operator, value] = labels.slice(at * 3, at * 3 + 3).map(({text}) => text);
    return {
      label: label ?? '',
      operator: operator as Matcher['operator'],
      value: JSON.parse(value ?? '""'),
    };
  });
}

function wordsOf(tokens: readonly Token[]): string[] {
  return tokens.filter(({kind}) => kind === 'word').map(({text}) => text);
}

function tokenise(expression: string): Token[] {
  const tokens: Token[] = [];
  let end = 0;
  for (const {index, 0: whole, groups = {}} of expression.matchAll(token)) {
    end = index + whole.length;
    const [kind] = Object.entries(groups).find(([, text]) => text !== undefined) ?? [];
    if (kind !== undefined) tokens.push({kind, text: whole});
  }
  if (end !== expression.length)
    throw new Error(`${expression}: expected a token, got ${expression.slice(end, end + 20)}`);
  return tokens;
}
