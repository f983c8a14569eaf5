// A value of a record and its origin, as a person reads them.

import {html, type SafeHtml} from '@remix-run/html-template';
import {describeWriter, type Writer} from '../explain/record-versions.ts';
import type {Look} from './page.ts';
import {showMinute} from './render.ts';

/** Characters of a value that a page shows; JSON has all. */
const longest = 400;
const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/;

/** A value as a person reads it: instants by the clock of the page, nested ones as JSON. */
export function drawValue(value: unknown, look: Pick<Look, 'timeZone'>): SafeHtml | string {
  if (value === null || value === undefined || value === '')
    return html`<span class="quiet">empty</span>`;
  if (typeof value === 'string' && instant.test(value))
    return html`<time datetime="${value}">${showMinute(value, look.timeZone)}</time>`;
  if (typeof value === 'string') return cut(value);
  if (typeof value === 'boolean') return value ? 'true' : 'false';
  return html`<code>${cut(JSON.stringify(value))}</code>`;
}

/** The writer of a version, with the way to its own page. @param field - the field in question */
export function drawWriter(writer: Writer, field?: string): SafeHtml | string {
  const words = describeWriter(writer, field);
  if (writer.kind === 'sweep') return html`<a href="/sweeps/${writer.sweepId}">${words}</a>`;
  if (writer.kind === 'change') return html`<a href="/changes/${writer.changeId}">${words}</a>`;
  return words;
}

export function drawSince(since: string, writer: SafeHtml | string, look: Look): SafeHtml {
  return html`since ${showMinute(since, look.timeZone)} <small>${writer}</small>`;
}

function cut(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}… (${text.length} characters)`;
}
