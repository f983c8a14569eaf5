// The small faults that can be put into a source file: one change of a few letters each.

import {parseAst} from 'vitest/node';

/** One fault: the text from `start` to `end` is replaced. */
export interface Mutation {
  readonly start: number;
  readonly end: number;
  readonly line: number;
  readonly before: string;
  readonly after: string;
}

type Edit = Omit<Mutation, 'line' | 'before'>;

/** What all nodes of the syntax tree have; the rest is read by name. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [field: string]: unknown;
}

/** All faults of a file, in the order of the text. A part that holds types alone has none. */
export function findMutations(text: string): Mutation[] {
  const edits: Edit[] = [];
  visit(parseAst(text, {lang: 'ts'}) as unknown as Node, (node) => {
    edits.push(...(editors[node.type]?.(node, text) ?? []));
  });
  return edits
    .sort((a, b) => a.start - b.start || a.end - b.end)
    .map((edit) => ({
      ...edit,
      line: text.slice(0, edit.start).split('\n').length,
      before: text.slice(edit.start, edit.end),
    }));
}

/** The text of a file with this fault. */
export function applyMutation(text: string, {start, end, after}: Mutation): string {
  return text.slice(0, start) + after + text.slice(end);
}

/** Expressions whose type is stated beside them. */
const typedExpressions = new Set([
  'TSAsExpression',
  'TSSatisfiesExpression',
  'TSNonNullExpression',
]);

function visit(node: Node, see: (node: Node) => void): void {
  if (typedExpressions.has(node.type)) {
    visit(node.expression as Node, see);
    return;
  }
  if (node.type.startsWith('TS') || node.type === 'ImportDeclaration') return;
  see(node);
  for (const value of Object.values(node))
    for (const child of Array.isArray(value) ? value : [value])
      if (isNode(child) && !isFallback(child, node)) visit(child, see);
}

/** A constant that is there for the type checker mostly, as in `list[0] ?? 0`. */
function isFallback(child: Node, {operator, right}: Node): boolean {
  return operator === '??' && child === right && child.type === 'Literal';
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
}

const operators: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '&&': ['||'],
  '||': ['&&'],
};

const methods: ReadonlyMap<unknown, string> = new Map([
  ['some', 'every'],
  ['every', 'some'],
  ['min', 'max'],
  ['max', 'min'],
  ['floor', 'ceil'],
  ['ceil', 'floor'],
]);

type Editor = (node: Node, text: string) => Edit[];

const editors: Readonly<Record<string, Editor>> = {
  BinaryExpression: changeOperator,
  LogicalExpression: changeOperator,
  IfStatement: settleTest,
  ConditionalExpression: settleTest,
  WhileStatement: ({test}) => [replace(test as Node, 'false')],
  ForStatement: ({test}) => (isNode(test) ? [replace(test, 'false')] : []),
  ExpressionStatement: (node) => (typeof node.directive === 'string' ? [] : [replace(node, ';')]),
  ThrowStatement: (node) => [replace(node, ';')],
  ReturnStatement: (node) => (node.argument === null ? [replace(node, ';')] : []),
  UnaryExpression: dropNot,
  MemberExpression: changeMethod,
  CallExpression: dropFilter,
  Literal: changeLiteral,
  TemplateLiteral: changeSql,
};

const replace = ({start, end}: Node, after: string): Edit => ({start, end, after});
const textOf = ({start, end}: Node, text: string) => text.slice(start, end);

function changeOperator(node: Node, text: string): Edit[] {
  const {left, right, operator} = node as unknown as {left: Node; right: Node; operator: string};
  if (operator === '??') return isFallback(right, node) ? [] : [replace(node, textOf(left, text))];
  // Texts are joined by the same sign as numbers are added.
  if (operator === '+' && [left, right].some((side) => isText(side))) return [];
  const start = text.indexOf(operator, left.end);
  return (operators[operator] ?? []).map((after) => ({start, end: start + operator.length, after}));
}

function isText(node: Node): boolean {
  if (node.type === 'BinaryExpression')
    return isText(node.left as Node) || isText(node.right as Node);
  return (
    node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string')
  );
}

function settleTest({test}: Node): Edit[] {
  return ['true', 'false'].map((after) => replace(test as Node, after));
}

function dropNot(node: Node, text: string): Edit[] {
  return node.operator === '!' ? [replace(node, `(${textOf(node.argument as Node, text)})`)] : [];
}

function changeMethod(node: Node): Edit[] {
  const property = node.property as Node;
  const other = node.computed === false ? methods.get(property.name) : undefined;
  return other === undefined ? [] : [replace(property, other)];
}

/** `list.filter(…)` becomes `list`. */
function dropFilter(node: Node, text: string): Edit[] {
  const callee = node.callee as Node;
  if (callee.type !== 'MemberExpression' || (callee.property as Node).name !== 'filter') return [];
  return [replace(node, textOf(callee.object as Node, text))];
}

function changeLiteral(node: Node): Edit[] {
  if (typeof node.value === 'boolean') return [replace(node, String(!node.value))];
  return typeof node.value === 'number' ? [replace(node, String(node.value + 1))] : [];
}

/** The end of a text after which AND belongs to BETWEEN. */
const between = /\bBETWEEN\s+\S+\s+$/;

const sqlChanges: readonly (readonly [RegExp, string])[] = [
  [/ >= /g, ' > '],
  [/ <= /g, ' < '],
  [/ > /g, ' >= '],
  [/ < /g, ' <= '],
  [/ IS NULL\b/g, ' IS NOT NULL'],
  [/ IS NOT NULL\b/g, ' IS NULL'],
  [/\bNOT EXISTS\b/g, 'EXISTS'],
  [/\bGREATEST\b/gi, 'LEAST'],
  [/\bLEAST\b/gi, 'GREATEST'],
  [/\bOR\b/g, 'AND'],
];

/** Changes the comparisons of a statement, and leaves out its conditions one by one. */
function changeSql(node: Node, text: string): Edit[] {
  const sql = textOf(node, text);
  if (!/\b(SELECT|UPDATE|DELETE|INSERT)\b/.test(sql)) return [];
  const edits = sqlChanges.flatMap(([pattern, after]) =>
    [...sql.matchAll(pattern)].map(({0: found, index}) => ({
      start: node.start + index,
      end: node.start + index + found.length,
      after,
    })),
  );
  for (const {index} of sql.matchAll(/\bAND\b/g)) {
    if (between.test(sql.slice(0, index))) continue;
    edits.push({
      start: node.start + index,
      end: node.start + endOfCondition(sql, index + 3),
      after: '',
    });
  }
  return edits;
}

/**
 * Where the condition ends that begins here: at the next one, at the next clause, or at its
 * bracket.
 */
function endOfCondition(sql: string, start: number): number {
  const next = /^\s*\b(AND|OR|ORDER|GROUP|RETURNING|LIMIT|FOR|UNION|ON|LEFT|JOIN|THEN)\b/;
  let depth = 0;
  for (let at = start; at < sql.length; at++) {
    const sign = sql[at] ?? '';
    if ('({['.includes(sign)) depth++;
    if (')}]'.includes(sign)) depth--;
    if (depth < 0 || (depth === 0 && (sign === '`' || sign === ';'))) return at;
    if (depth > 0 || at === start || !next.test(sql.slice(at))) continue;
    if (!between.test(`${sql.slice(start, at)} `)) return at;
  }
  return sql.length;
}
