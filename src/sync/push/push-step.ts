/**
 * The steps of a change between which its worker can be lost. `…-written` is inside the transaction, `…-committed`
 * after it; between `sending-committed` and `answered` the request is on its way.
 */
export const pushSteps = [
  'claimed',
  'read',
  'sending-written',
  'sending-committed',
  'answered',
  'read-back',
  'end-written',
  'end-committed',
  'looked',
] as const;

export type PushStep = (typeof pushSteps)[number];
