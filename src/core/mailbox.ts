/** Whether a text is one address of e-mail: a comma would be several, an end of line a header. */
export function isMailbox(text: string): boolean {
  return /^[^\s@,;<>"()\p{Cc}]+@[^\s@,;<>"()\p{Cc}]+$/u.test(text);
}
