/** The longest way to write a range: two numbers of 18 digits. */
const rangePattern = /^([1-9]\d{0,17})(?:-([1-9]\d{0,17}))?$/;

/** Numbers in few characters: `3-5,9`. @param numbers - ascending, each once */
export function writeNumbers(numbers: readonly string[]): string {
  const ranges: {first: bigint; last: bigint}[] = [];
  for (const number of numbers.map(BigInt)) {
    const range = ranges.at(-1);
    if (range !== undefined && number === range.last + 1n) range.last = number;
    else ranges.push({first: number, last: number});
  }
  return ranges
    .map(({first, last}) => (first === last ? `${first}` : `${first}-${last}`))
    .join(',');
}

/**
 * Reads them back. @returns null where the text is no such list, or holds more than so many numbers
 */
export function readNumbers(text: string, most: number): string[] | null {
  const numbers: string[] = [];
  for (const range of text === '' ? [] : text.split(',')) {
    const [, first, last = first] = rangePattern.exec(range) ?? [];
    if (first === undefined || last === undefined) return null;
    const count = BigInt(last) - BigInt(first) + 1n;
    if (count < 1n || count > most - numbers.length) return null;
    for (let number = BigInt(first); number <= BigInt(last); number++) numbers.push(String(number));
  }
  return numbers;
}
