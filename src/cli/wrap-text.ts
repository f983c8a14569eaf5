/** Lines for a person are at most this wide. */
export const maxWidth = 110;

/**
 * Breaks a long line between words; further lines are indented more. @param hanging - by how much
 */
export function wrap(line: string, hanging = 4): string {
  const [, indent = '', text = ''] = /^( *)(.*)$/s.exec(line) ?? [];
  const lines: string[] = [];
  let open = indent;
  for (const word of text.split(' ')) {
    const longer = open.trim() === '' ? `${open}${word}` : `${open} ${word}`;
    if (longer.length > maxWidth && open.trim() !== '') {
      lines.push(open);
      open = `${indent}${' '.repeat(hanging)}${word}`;
    } else open = longer;
  }
  return [...lines, open].join('\n');
}
