// The timeline of a sweep: its steps with their bars, on one scale.

import {html, type SafeHtml} from '@remix-run/html-template';
import {formatElapsed} from '../core/format.ts';
import type {SweepStory} from '../sweeps/story.ts';
import {listSteps, measureStepMs, type Step} from '../sweeps/words.ts';
import type {PageContext} from './page.ts';
import {renderMark, renderProse, renderTable, renderTime} from './render.ts';

/** The steps of a sweep, one under the other, each with its bar and under it the usual one. */
export function renderTimeline(story: SweepStory, context: PageContext): SafeHtml {
  const steps = listSteps(story);
  const scale = scaleOf(story, steps, context);
  return html`<h2>Timeline</h2>${renderTable({
    caption: 'The steps of the sweep, in the order in which they happened',
    columns: [
      {head: 'step', isTitle: true},
      {head: '', isTitle: true},
      {head: 'took', kind: 'number'},
      {head: 'usually', kind: 'number'},
      'began',
      'details',
    ],
    rows: steps.map((step) => {
      const ms = measureStepMs(step, context.now);
      return [
        step.isUnderWay ? renderMark('busy', step.step) : step.step,
        isAfterWait(step, story.sweep.approvedAt) ? '' : renderBar(step, scale, context),
        ms === null ? '' : formatElapsed(ms),
        step.usualSeconds === null ? '' : formatElapsed(step.usualSeconds * 1_000),
        renderBeginning(step, story, context),
        html`<span class="what">${renderProse(step.text, context)}</span>`,
      ];
    }),
    none: 'It has not begun.',
    isStacked: true,
  })}<p class="quiet">Upper bar: this sweep.
Lower bar: the median of the last ten of the same stream and kind.
Times that are not kept are left out, and waiting is not drawn.</p>`;
}

/**
 * The beginning of a step, as the time since the sweep began, because the minutes of a clock are
 * too coarse. The first step, and a step after a wait for a person, have a clock time.
 */
function renderBeginning(
  step: Step,
  {sweep: {startedAt, approvedAt}}: SweepStory,
  context: PageContext,
): SafeHtml | string {
  const {from} = step;
  if (from === null) return html`<span class="quiet">not kept</span>`;
  if (
    startedAt === null ||
    Date.parse(from) <= Date.parse(startedAt) ||
    isAfterWait(step, approvedAt)
  )
    return renderTime(from, context);
  return `${formatElapsed(Date.parse(from) - Date.parse(startedAt))} later`;
}

interface Scale {
  readonly fromMs: number;
  readonly ms: number;
}

/**
 * The scale of the timeline: from the beginning of the work to its end, or to the usual end if that
 * is later. A wait for a person is left out.
 */
function scaleOf({sweep, usual}: SweepStory, steps: readonly Step[], context: PageContext): Scale {
  const fromMs = Date.parse(sweep.startedAt ?? sweep.dueAt);
  const ends = steps
    .filter((step) => isDrawn(step) && !isAfterWait(step, sweep.approvedAt))
    .map((step) => Date.parse(step.to ?? context.now) - fromMs);
  return {fromMs, ms: Math.max(1, (usual?.seconds ?? 0) * 1_000, ...ends)};
}

function isDrawn({step, from, to, isUnderWay}: Step): boolean {
  return from !== null && (to !== null || isUnderWay) && !/^wait/.test(step);
}

function isAfterWait({from}: Step, approvedAt: string | null): boolean {
  return approvedAt !== null && from !== null && from >= approvedAt;
}

/** The bar of a step, in percent of the width; the words beside it have the same figures. */
function renderBar(step: Step, {fromMs, ms}: Scale, context: PageContext): SafeHtml | string {
  if (!isDrawn(step)) return '';
  const percent = (part: number) => Math.round((1_000 * Math.max(0, part)) / ms) / 10;
  const start = Math.min(percent(Date.parse(step.from ?? '') - fromMs), 99);
  const width = Math.min(
    Math.max(percent(measureStepMs(step, context.now) ?? 0), 0.5),
    100 - start,
  );
  const usual =
    step.usualSeconds === null ? 0 : Math.min(percent(step.usualSeconds * 1_000), 100 - start);
  return html`<svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true">
    <rect class="ground" width="100" height="12"/>
    <rect class="span" x="${start}" y="1" width="${width}" height="6"/>${
      usual === 0 ? '' : html`<rect class="usual" x="${start}" y="8" width="${usual}" height="3"/>`
    }</svg>`;
}
