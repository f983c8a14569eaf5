import {filtersOf} from './changes-filter.ts';
import {linkTo} from './look.ts';
import {Refused} from './refused.ts';

/** The boxes that are ticked: `c12=on`. */
export function listTicked(query: Readonly<Record<string, string>>): string[] {
  return Object.keys(query).flatMap((name) => /^c([1-9]\d{0,17})$/.exec(name)?.slice(1) ?? []);
}

/** @throws {Refused} none is ticked */
export function readTicked(query: Readonly<Record<string, string>>): string[] {
  const ticked = listTicked(query);
  if (ticked.length > 0) return ticked;
  throw new Refused(422, {
    title: 'No change is ticked',
    text: 'Tick the changes that you mean, or choose all that match the filter. Nothing was done.',
    ways: [{href: linkTo({query}, '/changes', filtersOf(query)), label: 'Back to the changes'}],
  });
}
