import type {Role} from '../accounts/roles.ts';
import {Refused} from './refused.ts';
import {mayActAs, type Viewer} from './viewer.ts';

/**
 * @param back - the page that a person who may not is shown the way to @throws {Refused} the viewer
 * may not act as that role
 */
export function checkRole(viewer: Viewer, role: Role, back: string): void {
  if (mayActAs(viewer, role)) return;
  throw new Refused(403, {
    title: 'Your key may not do this',
    text: `It takes the role ${role}, and yours is ${viewer.role}. Nothing was done.`,
    ways: [{href: back, label: 'Back'}],
  });
}
