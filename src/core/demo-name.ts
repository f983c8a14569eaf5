/** The name of the account whose data are made up. */
export const demoName = 'demo';
