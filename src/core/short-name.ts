/**
 * The name of a key, a rule or a subscriber. `application_name` shows it with a few letters more,
 * and holds 63 bytes.
 */
export const shortName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/;

export const shortNameText =
  'expected a name of up to 50 letters, digits, dots, underscores and hyphens';
