import type {Logger} from '../core/log.ts';
import type {KnownNames} from '../http/known-names.ts';
import type {ApiPools} from '../http/pools.ts';
import type {Doings} from './doings.ts';

/**
 * A proxy in front that signs people in, and says in two headers who they are and what they may.
 */
export interface SignInProxy {
  /** Its addresses: from any other the headers mean nothing. */
  readonly addresses: readonly string[];
  readonly nameHeader: string;
  readonly roleHeader: string;
}

export interface ConsoleOptions {
  /**
   * The address that people use, where it is not that of this machine; https there makes cookies
   * secure.
   */
  readonly publicUrl: URL | null;
  /** Further names by which systems reach the server. */
  readonly hostNames: readonly string[];
  /** A proxy that signs people in; null where there is none. */
  readonly proxy: SignInProxy | null;
  /** The warehouse's address for LISTEN: no pooler in between. */
  readonly directUrl: string;
  readonly doings: Doings;
}

export interface ConsoleDeps extends ConsoleOptions {
  readonly pools: Pick<ApiPools, 'reads' | 'writes'>;
  readonly log: Logger;
  /** The names by which the console may be asked. */
  readonly known: KnownNames;
}
