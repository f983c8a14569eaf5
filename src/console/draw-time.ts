import {html, type SafeHtml} from '@remix-run/html-template';
import {formatAgo, formatAhead} from '../core/format.ts';
import type {Look} from './look.ts';

const formats = new Map<string, Intl.DateTimeFormat>();

/**
 * `2026-11-24 07:04` by the clock of the page, with how long ago or ahead that is beside it. @param
 * instant - ISO 8601
 */
export function drawTime(
  instant: string | null,
  look: Pick<Look, 'timeZone' | 'now'>,
): SafeHtml | string {
  if (instant === null) return '';
  const shown = showMinute(instant, look.timeZone);
  const distance =
    instant <= look.now ? formatAgo(instant, look.now) : formatAhead(instant, look.now);
  return html`<time datetime="${instant}" title="${instant}">${shown} <small>${distance}</small></time>`;
}

/** `2026-11-24 07:04` in a zone. */
export function showMinute(instant: string, timeZone: string): string {
  const format =
    formats.get(timeZone) ??
    new Intl.DateTimeFormat('sv-SE', {timeZone, dateStyle: 'short', timeStyle: 'short'});
  formats.set(timeZone, format);
  return format.format(new Date(instant));
}
