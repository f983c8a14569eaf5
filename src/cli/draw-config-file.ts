import {Document, isMap, isNode, isScalar, isSeq} from 'yaml';
import type {Section} from '../settings/section.ts';
import {find, isSame, listLeaves, type Tree, toTree} from '../settings/settings-tree.ts';

/** The settings of a section that are in force. */
export interface Held {
  readonly section: Section;
  readonly tree: Tree;
}

const beginning = [
  'Settings of Fieldmirror: fieldmirror config plan tells what this file would change, config apply changes it.',
  'What is not named is left alone. null takes an entry away, or back to its default.',
];

/**
 * Draws settings as a file, always in the same order.
 * @param schema - the path of the JSON Schema for editors, as seen from the file; null where there
 *   is none
 */
export function drawFile(held: readonly Held[], schema: string | null): string {
  const document = new Document(
    Object.fromEntries(held.map((each) => [each.section.name, selectShown(each)])),
  );
  document.commentBefore = comment(beginning);
  for (const each of held) {
    drawAbout(document, each.section);
    drawValues(document, each);
  }
  const hint = schema === null ? '' : `# yaml-language-server: $schema=${schema}\n`;
  return `${hint}${document.toString({lineWidth: 0, flowCollectionPadding: false})}`;
}

function drawAbout({contents}: Document, {name, about}: Section): void {
  if (!isMap(contents)) return;
  const key = contents.items
    .map((item) => item.key)
    .find((each) => isScalar(each) && each.value === name);
  if (!isNode(key)) return;
  key.spaceBefore = key !== contents.items[0]?.key;
  key.commentBefore = comment(about);
}

/** Lists stand in one line, and a value at its default says so. */
function drawValues(document: Document, {section, tree}: Held): void {
  const defaults = section.defaultsOf?.(tree) ?? {};
  for (const {path, value} of listLeaves(tree)) {
    const node = document.getIn([section.name, ...path], true);
    if (isSeq(node)) node.flow = true;
    if (isNode(node) && isSame(find(defaults, path), value)) node.comment = ' default';
  }
}

/** Without the values at their defaults, in a section that has many. */
export function selectShown({section, tree}: Held): Tree {
  if (section.hidesDefaults !== true) return tree;
  const defaults = section.defaultsOf?.(tree) ?? {};
  return toTree(listLeaves(tree).filter(({path, value}) => !isSame(find(defaults, path), value)));
}

function comment(lines: readonly string[]): string {
  return lines.map((line) => ` ${line}`).join('\n');
}
