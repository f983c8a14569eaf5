/**
 * The steps of a change between which its worker can be lost. `…-written` is inside the
 * transaction, `…-committed` after it; at `turn` the request has waited behind others, and its
 * first byte is next; between `turn` and `answered` it is on its way.
 */
export const pushSteps = [
  'claimed',
  'read',
  'sending-written',
  'sending-committed',
  'turn',
  'answered',
  'read-back',
  'end-written',
  'end-committed',
  'looked',
] as const;

export type PushStep = (typeof pushSteps)[number];
