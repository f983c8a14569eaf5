/** The ways in which a rule tells. */
export const receivers = ['webhook', 'slack', 'email', 'ping'] as const;
