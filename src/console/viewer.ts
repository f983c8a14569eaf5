import {createHash} from 'node:crypto';
import type {Session} from '../accounts/access.ts';
import {type Role, roles} from '../accounts/roles.ts';

/** Somebody who looks at the console. */
export interface Viewer extends Session {
  /** Proves that a form was drawn for this session: another page cannot know it. */
  readonly formToken: string;
}

/** @param cookie - the text of the session's cookie */
export function makeViewer(session: Session, cookie: string): Viewer {
  return {...session, formToken: createHash('sha256').update(`form:${cookie}`).digest('base64url')};
}

/** Each role may what the one before it may. */
export function mayActAs({role}: Pick<Session, 'role'>, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed);
}
