import type {Client} from '../api/client.ts';

/** The way to one account at the service. */
export interface AccountApi {
  readonly api: Client;
  /** IANA zone in which the account writes times without an offset. */
  readonly timeZone: string;
  /** The token that the account was opened with; left out where it cannot be replaced meanwhile. */
  readonly token?: TokenInUse;
}

/** A token while it is in use. */
export interface TokenInUse {
  /**
   * How a person gives the account another token: `give it … with fieldmirror accounts add NAME`.
   */
  readonly mend: string;
  /** Whether the account has got another token since. */
  readonly isReplaced: () => Promise<boolean>;
}
