// A refusal is an answer, not a failure: it is thrown because a transaction has to be unwound on
// the way to the client, and it never leaves the service.

/**
 * An error answer: its status and the texts of its `<errors>` body (docs/service.md "Errors and
 * headers").
 */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly texts: readonly string[];

  constructor(status: number, ...texts: readonly string[]) {
    super(texts.join('; '));
    this.status = status;
    this.texts = texts;
  }
}

/** 400 `Invalid customer.`: the real service's answer for an unknown number. */
export function unknownRecord(element: string): Refusal {
  return new Refusal(400, `Invalid ${element.replaceAll('_', ' ')}.`);
}

/** 422 with one text per problem, in the words of Rails. */
export function invalid(problems: readonly string[]): Refusal {
  return new Refusal(422, ...problems);
}

/** `job_type_id` as Rails says it to a person: `Job type`. */
export function humanize(field: string): string {
  const words = field.replace(/_id$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}
