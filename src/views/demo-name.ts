/** What the account is called whose data are made up. */
export const demoName = 'demo';
