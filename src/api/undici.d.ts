// Parts of undici that are loaded without the rest of it, with the types that the whole gives them.

declare module 'undici/lib/core/connect.js' {
  import {buildConnector} from 'undici';
  export = buildConnector;
}

declare module 'undici/lib/dispatcher/agent.js' {
  import {Agent} from 'undici';
  export = Agent;
}
