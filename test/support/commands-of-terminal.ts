/**
 * Controls of C0 but for a new line and a tab, DEL, controls of C1 and of direction, separators of
 * lines and paragraphs.
 */
export const commandsOfTerminal =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
