import {html, type SafeHtml} from '@remix-run/html-template';
import {formatElapsed} from '../core/format.ts';
import type {SweepStory} from '../sweeps/story.ts';
import {lengthOf, listSteps, type Step} from '../sweeps/words.ts';
import {drawMark} from './draw-mark.ts';
import {drawTable} from './draw-table.ts';
import {drawTime} from './draw-time.ts';
import type {Look} from './look.ts';

/** The steps of a sweep, one under the other, each with its bar and under it the usual one. */
export function drawTimeline(story: SweepStory, look: Look): SafeHtml {
  const steps = listSteps(story);
  const scale = scaleOf(story, steps, look);
  return html`<h2>As a timeline</h2>${drawTable({
    caption: 'The steps of the sweep, in the order in which they happened',
    columns: [
      'step',
      'drawn',
      {head: 'took', kind: 'number'},
      {head: 'usually', kind: 'number'},
      'began',
      'in it',
    ],
    rows: steps.map((step) => {
      const ms = lengthOf(step, look.now);
      return [
        step.isUnderWay ? drawMark('busy', step.step) : step.step,
        isAfterWait(step, story.sweep.approvedAt) ? '' : drawBar(step, scale, look),
        ms === null ? '' : formatElapsed(ms),
        step.usualSeconds === null ? '' : formatElapsed(step.usualSeconds * 1_000),
        drawBeginning(step, story, look),
        html`<span class="what">${step.text}</span>`,
      ];
    }),
    none: 'It has not begun.',
  })}<p class="quiet">Upper bar: this sweep. Lower bar: the median of the last ten of the same stream and kind. Moments that no row keeps are left out; waiting is not drawn.</p>`;
}

/**
 * By the clock where a person was waited for; else so long after the sweep began: minutes tell too
 * little.
 */
function drawBeginning(
  step: Step,
  {sweep: {startedAt, approvedAt}}: SweepStory,
  look: Look,
): SafeHtml | string {
  const {from} = step;
  if (from === null) return html`<span class="quiet">not kept</span>`;
  if (
    startedAt === null ||
    Date.parse(from) <= Date.parse(startedAt) ||
    isAfterWait(step, approvedAt)
  )
    return drawTime(from, look);
  return `${formatElapsed(Date.parse(from) - Date.parse(startedAt))} later`;
}

interface Scale {
  readonly fromMs: number;
  readonly ms: number;
}

/**
 * From the beginning of the work to its end, or to the usual end where that is later. A wait for a
 * person is left out.
 */
function scaleOf({sweep, usual}: SweepStory, steps: readonly Step[], look: Look): Scale {
  const fromMs = Date.parse(sweep.startedAt ?? sweep.dueAt);
  const ends = steps
    .filter((step) => isDrawn(step) && !isAfterWait(step, sweep.approvedAt))
    .map((step) => Date.parse(step.to ?? look.now) - fromMs);
  return {fromMs, ms: Math.max(1, (usual?.seconds ?? 0) * 1_000, ...ends)};
}

function isDrawn({step, from, to, isUnderWay}: Step): boolean {
  return from !== null && (to !== null || isUnderWay) && !/^wait/.test(step);
}

function isAfterWait({from}: Step, approvedAt: string | null): boolean {
  return approvedAt !== null && from !== null && from >= approvedAt;
}

/** Percent of the width; the words beside it say the same. */
function drawBar(step: Step, {fromMs, ms}: Scale, look: Look): SafeHtml | string {
  if (!isDrawn(step)) return '';
  const percent = (part: number) => Math.round((1_000 * Math.max(0, part)) / ms) / 10;
  const at = Math.min(percent(Date.parse(step.from ?? '') - fromMs), 99);
  const width = Math.min(Math.max(percent(lengthOf(step, look.now) ?? 0), 0.5), 100 - at);
  const usual =
    step.usualSeconds === null ? 0 : Math.min(percent(step.usualSeconds * 1_000), 100 - at);
  return html`<svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true"><rect class="ground" width="100" height="12"/><rect class="span" x="${at}" y="1" width="${width}" height="6"/>${
    usual === 0 ? '' : html`<rect class="usual" x="${at}" y="8" width="${usual}" height="3"/>`
  }</svg>`;
}
