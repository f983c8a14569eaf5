import {html, type SafeHtml} from '@remix-run/html-template';
import type {Role} from '../accounts/roles.ts';
import {type Look, may} from './look.ts';

interface Form {
  /** The path of the action. */
  readonly to: string;
  /** The role that the action takes: nobody else is shown the form. */
  readonly role: Role;
  readonly label: string;
  /** Fields that the person does not fill in. */
  readonly fixed?: Readonly<Record<string, string>>;
  /** Fields that the person fills in. */
  readonly fields?: SafeHtml;
  /** A step that is not taken back easily. */
  readonly isGrave?: boolean;
}

/**
 * A form for an action, with one button; nothing where the viewer may not. The person comes back to
 * the same page.
 */
export function drawForm(look: Look, form: Form): SafeHtml | string {
  if (!may(look, form.role)) return '';
  const fixed = {form: look.viewer.formToken, back: look.path, ...form.fixed};
  return html`<form method="post" action="${form.to}" class="action">${Object.entries(fixed).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )}${form.fields ?? ''}<button${form.isGrave === true ? html` class="grave"` : ''}>${form.label}</button></form>`;
}
