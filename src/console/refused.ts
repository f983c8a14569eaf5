/** Where a person goes on. */
export interface Way {
  readonly href: string;
  readonly label: string;
}

interface Telling {
  readonly title: string;
  readonly text: string;
  readonly ways?: readonly Way[];
}

/** A request that ends with a page that says why, and where to go on. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  readonly title: string;
  readonly text: string;
  readonly ways: readonly Way[];

  constructor(status: number, {title, text, ways = []}: Telling, options: ErrorOptions = {}) {
    super(`${title}: ${text}`, options);
    this.status = status;
    this.title = title;
    this.text = text;
    this.ways = ways;
  }
}

/** @param nearest - what may have been meant */
export function notThere(what: string, nearest: readonly Way[] = []): Refused {
  const text =
    nearest.length === 0 ? `There is no ${what}.` : `There is no ${what}. Nearest to it:`;
  return new Refused(404, {title: 'Not found', text, ways: nearest});
}
