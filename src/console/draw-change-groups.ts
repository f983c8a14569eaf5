import {html, type SafeHtml} from '@remix-run/html-template';
import type {ChangeGroup} from '../changes/preview-decision.ts';
import {drawTable} from './draw-table.ts';
import {type Look, linkTo} from './look.ts';

interface Drawn {
  readonly look: Look;
  readonly head: string;
  readonly caption: string;
  readonly none: string;
}

/** Changes that have something in common, with the way to the first of them. */
export function drawGroups(
  groups: readonly ChangeGroup[],
  {look, head, caption, none}: Drawn,
): SafeHtml {
  return drawTable({
    caption,
    columns: [head, {head: 'changes', kind: 'number'}, 'the first'],
    rows: groups.map(({what, count, first}) => [
      what,
      count,
      html`${first.map((id, at) => html`${at === 0 ? '' : ', '}<a href="${linkTo(look, `/changes/${id}`)}">${id}</a>`)}`,
    ]),
    none,
  });
}
