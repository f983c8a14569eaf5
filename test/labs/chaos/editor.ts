// People at the service edit and create records there, while authors edit the same ones in the
// warehouse.

import {request} from 'undici';
import type {Random} from '../../../src/service/vocabulary.ts';

interface Numbers {
  readonly customers: readonly string[];
  readonly jobs: readonly string[];
}

const fields = {
  customers: ['name', 'phone_number', 'fax', 'email_address'],
  jobs: ['name', 'scheduled_on'],
} as const;
const requestMs = 10_000;

export class Editor {
  readonly #service: {readonly url: string; readonly token: string};
  readonly #random: Random;
  readonly #numbers: Numbers;
  /** Values that were sent, and not yet found in the journal. */
  readonly #sent = new Map<string, number>();
  #count = 0;
  /** Edits that the service answered. */
  acknowledged = 0;

  constructor(
    service: {readonly url: string; readonly token: string},
    random: Random,
    numbers: Numbers,
  ) {
    this.#service = service;
    this.#random = random;
    this.#numbers = numbers;
  }

  /** One edit, sent once: where its answer is lost the journal tells its effect. */
  async act(): Promise<void> {
    const random = this.#random;
    const table = random.pick(['customers', 'jobs'] as const);
    const at = ++this.#count;
    if (random.isTrue(0.15))
      return await this.#send('POST', '/customers.xml', {name: `Made there ${at}`});
    const [first = '', ...others] = this.#numbers[table];
    const number = random.pick([first, ...others]);
    const field = random.pick<string>(fields[table]);
    // No author writes such a value, so that it tells whose effect it is.
    const value = field === 'scheduled_on' ? this.#moment(at) : `Edited there ${at}`;
    await this.#send('PUT', `/${table}/${number}.xml`, {[field]: value});
  }

  /** Whether an effect is one of these edits; each edit counts once. */
  claims(values: readonly unknown[]): boolean {
    return values.some((value) => {
      const key = normalise(String(value));
      const left = this.#sent.get(key) ?? 0;
      if (left === 0) return false;
      this.#sent.set(key, left - 1);
      return true;
    });
  }

  /** An hour and a minute apart, so that no visit's end is the beginning of another one. */
  #moment(at: number): string {
    return new Date(Date.UTC(2031, 0, 1) + at * 61 * 60_000)
      .toISOString()
      .replace('.000Z', '+00:00');
  }

  async #send(
    method: 'POST' | 'PUT',
    path: string,
    values: Readonly<Record<string, string>>,
  ): Promise<void> {
    for (const value of Object.values(values)) this.#sent.set(normalise(value), 1);
    const element = path.startsWith('/jobs') ? 'job' : 'customer';
    const inside = Object.entries(values).map(
      ([name, value]) => `<${name.replaceAll('_', '-')}>${value}</${name.replaceAll('_', '-')}>`,
    );
    const {url, token} = this.#service;
    const authorization = `Basic ${Buffer.from(`${token}:${token}`).toString('base64')}`;
    try {
      const answer = await request(url + path, {
        method,
        headers: {authorization, 'content-type': 'application/xml; charset=utf-8'},
        body: `<?xml version="1.0" encoding="UTF-8"?>\n<${element}>${inside.join('')}</${element}>`,
        headersTimeout: requestMs,
        bodyTimeout: requestMs,
      });
      await answer.body.dump();
      if (answer.statusCode < 300) this.acknowledged++;
    } catch {
      // The service is down just now: its journal tells whether the edit was done.
    }
  }
}

function normalise(value: string): string {
  return /^\d{4}-\d\d-\d\d[T ]/.test(value) ? new Date(value).toISOString() : value;
}
