// The requests of a change: each sent request with its answer, and the one that would be sent.

import {html, type SafeHtml} from '@remix-run/html-template';
import type {Attempt} from '../changes/change.ts';
import type {ChangeInFull} from '../changes/story.ts';
import {formatNumber} from '../core/format.ts';
import type {Tone} from '../core/text.ts';
import type {PageContext} from './page.ts';
import {renderMark, renderTime} from './render.ts';

const outcomes: Readonly<Record<NonNullable<Attempt['outcome']>, readonly [Tone, string]>> = {
  done: ['good', 'done'],
  refused: ['bad', 'refused'],
  'not-sent': ['quiet', 'nothing was written'],
  'in-doubt': ['warning', 'unknown whether it was written'],
};

/** Every sent request with its answer, and the one that would be sent. */
export function renderRequests(
  {attempts, change, request}: ChangeInFull,
  context: PageContext,
): SafeHtml {
  return html`${request === null ? '' : renderPlanned(request, change)}
  <h2>Requests</h2>
  ${
    attempts.length === 0
      ? html`<p class="none">Nothing was sent.</p>`
      : html`<ol class="story">${attempts.map(
          (attempt) => html`<li>${renderAttempt(attempt, change, context)}</li>`,
        )}</ol>`
  }`;
}

function renderPlanned(
  request: NonNullable<ChangeInFull['request']>,
  {operation}: ChangeInFull['change'],
): SafeHtml {
  if ('problem' in request)
    return html`<h2>Would be sent</h2><p>Nothing can be sent: ${request.problem}</p>`;
  const {method, path, body} = request;
  return html`<h2>Would be sent</h2>
  <pre tabindex="0">${`${method} ${path}`}${body === null ? '' : `\n${body.trimEnd()}`}</pre>
  ${
    operation === 'update'
      ? html`<p class="quiet">Without what the service holds by then: the record is read just
        before.</p>`
      : ''
  }`;
}

function renderAttempt(
  attempt: Attempt,
  {state}: ChangeInFull['change'],
  context: PageContext,
): SafeHtml {
  const {method, path, startedAt, endedAt, outcome, status, answer, request} = attempt;
  const [tone, label] =
    outcome === null
      ? state === 'sending'
        ? (['busy', 'on its way'] as const)
        : (['warning', 'its worker was lost'] as const)
      : outcomes[outcome];
  return html`<div>${renderTime(startedAt, context)}: <code>${method} ${path}</code></div>
  <div>${renderMark(tone, label)}${status === null ? '' : `, answered ${status}`}${describeSeconds(
    startedAt,
    endedAt,
  )}</div>
  ${
    request === null
      ? ''
      : html`<details><summary>The request</summary><pre tabindex="0">${request}</pre></details>`
  }
  ${
    answer === null || answer === ''
      ? ''
      : html`<details open><summary>The answer</summary><pre tabindex="0">${answer}</pre></details>`
  }`;
}

function describeSeconds(startedAt: string, endedAt: string | null): string {
  if (endedAt === null) return '';
  return `, after ${formatNumber((Date.parse(endedAt) - Date.parse(startedAt)) / 1000)} s`;
}
