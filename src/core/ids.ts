// Numbers that name something: a record, a row, a change, a sweep. They are texts: a bigint of
// Postgres may be more than a number of JavaScript holds.

/** From 1 on, without zeros before it; of so many digits that every one is a bigint. */
export const idPattern = /^[1-9]\d{0,17}$/;

export function isId(text: string): boolean {
  return idPattern.test(text);
}
