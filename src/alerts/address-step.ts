import type {Receiver} from './alert-rules.ts';

/**
 * The step that gives a rule the address that it waits for; of e-mail its server is what is secret.
 */
export function tellAddressStep(rule: string, receiver: Receiver): string {
  return `fieldmirror alerts add ${rule} ${receiver === 'email' ? '--email ADDRESS --smtp -' : `--${receiver} -`}`;
}
