import {clearUp} from '../../src/cli/retention.ts';
import type {ConsoleOptions} from '../../src/console/page.ts';

/** A console on this machine, which asks nothing but the warehouse. */
export function plainConsole(directUrl = 'postgres://127.0.0.1/warehouse'): ConsoleOptions {
  const refuse = async () => {
    throw new Error('this test asks no service');
  };
  return {
    publicUrl: null,
    hostNames: [],
    proxy: null,
    directUrl,
    services: {
      healthInput: {
        keyIds: [],
        bounds: [],
        home: null,
        address: {databaseUrl: directUrl, directUrl: null, home: ''},
      },
      examine: async () => [],
      listSettings: async () => [],
      checkAccount: refuse,
      tryAccount: refuse,
      planRule: refuse,
      testRule: refuse,
      sendLetter: refuse,
      clearUpForgotten: async (forgotten) => await clearUp(directUrl, forgotten),
    },
  };
}
