/** The port of the pages of support; `src/app/panel/support-ports.ts` implements it with the features. */
import type { LimitedCaller } from './limits.ts';

export type SupportRestaurant = {
  restuid: string;
  name: string;
  timeZone: string;
  currency: string;
  apiEnabled: boolean;
};

type NewRestaurant = { name: string; timeZone: string; currency: string; sandbox: boolean };

type ClientState = 'active' | 'quarantined' | 'revoked';

export type ListedClient = {
  clientId: string;
  name: string;
  state: ClientState;
  created: Date;
  /** Null means all. */
  scopes: readonly string[] | null;
  /** The number of restaurants that it may reach. */
  tenantsCount: number;
  lastUsed: Date | null;
};

type SecretState = ClientState | 'expired';

export type ShownSecret = {
  id: string;
  state: SecretState;
  /** Time, actor and reason of the last change of the state. */
  reason: string | null;
  created: Date;
  expires: Date | null;
  calls5m: number;
  lastUsed: Date | null;
  lastAddress: string | null;
  /** The longest time between two uses so far; 0 before the second use. */
  longestGapSeconds: number;
  /** A report said that its value is known to others. */
  leaked: boolean;
  /**
   * What speaks against ending it now; null for one that has ended. Only `safe` means that no program needs it any
   * more.
   */
  advice: 'only_one' | 'not_used_yet' | 'newest' | 'successor_not_used' | 'used_lately' | 'safe' | null;
};

export type ShownClient = Omit<ListedClient, 'tenantsCount' | 'lastUsed'> & {
  reason: string | null;
  actor: string | null;
  changed: Date | null;
  mayUseTokens: boolean;
  mayIntrospect: boolean;
  /** Whether its tokens must be bound to a key (RFC 9449). */
  dpop: 'optional' | 'required';
  /** Security profile that it was switched to; `standard`: that of the gateway. */
  profile: 'standard' | 'fapi2';
  /** A missing one is the default, or no limit. */
  limits: LimitedCaller['limits'];
  /** Null: every address. */
  allowIp: readonly string[] | null;
  secrets: readonly ShownSecret[];
  /** Whether they must be bound to a certificate (RFC 8705). */
  certificateBinding: 'optional' | 'required';
  /** Null: no certificate of an authority is known by its name. */
  certificateName: string | null;
  /** `id`: thumbprint. */
  certificates: readonly {
    id: string;
    subject: string;
    state: SecretState;
    expires: Date | null;
    calls5m: number;
    lastUsed: Date | null;
  }[];
  /** Public keys of the client for private_key_jwt. */
  keys: readonly { id: string; type: string; state: SecretState; calls5m: number; lastUsed: Date | null }[];
  /** Subjects of issuers whose tokens authenticate the client. */
  trusts: readonly {
    id: string;
    issuer: string;
    subject: string;
    audience: string;
    state: SecretState;
    calls5m: number;
    lastUsed: Date | null;
  }[];
};

type NewClient = {
  name: string;
  /** The restaurants that it may reach. */
  tenants: readonly string[];
  /** Null means all, later ones included. */
  scopes: readonly string[] | null;
  mayIntrospect: boolean;
  dpopRequired: boolean;
};

export type Scope = { name: string; description: string; isRead: boolean };

export type ClientUse = {
  clientId: string;
  /** Beginning of the calls that were read. */
  since: Date;
  /** There are more calls than were read, so a scope may have been needed before `since`. */
  partial: boolean;
  calls: number;
  routes: readonly { method: string; path: string; calls: number; last: Date }[];
  refusals: readonly { path: string | null; reason: string | null; calls: number; last: Date }[];
  scopes: readonly { name: string; calls: number; last: Date | null }[];
  unused: readonly string[];
  /** The scopes that remain when unused ones are withdrawn. */
  proposed: readonly string[];
};

/** The cursor of the next page; null on the last page. */
type Next = { next: string | null };

/** Refuses a change by throwing; it gets what is stored under the lock of the client. */
type CheckClient = (stored: ShownClient) => void;

/**
 * Throws Faults: NOT_FOUND for unknown ids, VALIDATION_ERROR for invalid values, CONFLICT when the state does not allow
 * it; and what a check throws.
 */
export type SupportPorts = {
  /** Newest first. `search`: the beginning of a uid, or words of the name. */
  listRestaurants: (search: string, cursor: string | undefined) => Promise<{ restaurants: SupportRestaurant[] } & Next>;
  findRestaurant: (restuid: string) => Promise<SupportRestaurant | undefined>;
  /** The names of those restaurants that exist. */
  namesOf: (restuids: readonly string[]) => Promise<SupportRestaurant[]>;
  createRestaurant: (actor: string, restaurant: NewRestaurant) => Promise<string>;
  /** `restaurant`: only clients that may reach it. `live`: without disabled clients. */
  listClients: (
    search: { text?: string; restaurant?: string; live?: boolean },
    cursor: string | undefined,
  ) => Promise<{ clients: ListedClient[] } & Next>;
  showClient: (clientId: string) => Promise<ShownClient>;
  /** Ids of the live public keys and certificates of the client that this actor added. */
  addedBy: (clientId: string, actor: string) => Promise<{ keys: readonly string[]; certificates: readonly string[] }>;
  listGrants: (clientId: string, cursor: string | undefined) => Promise<{ restaurants: SupportRestaurant[] } & Next>;
  scopes: readonly Scope[];
  createClient: (actor: string, client: NewClient) => Promise<{ clientId: string; secret: string }>;
  rotateSecret: (actor: string, clientId: string, overlapHours: number) => Promise<{ secret: string }>;
  retireSecret: (actor: string, clientId: string, secretId: string, force: boolean) => Promise<void>;
  disableClient: (actor: string, clientId: string) => Promise<void>;
  quarantine: (actor: string, clientId: string, reason: string) => Promise<void>;
  reactivate: (actor: string, clientId: string, reason: string, check: CheckClient) => Promise<void>;
  grant: (actor: string, clientId: string, restuids: readonly string[]) => Promise<void>;
  withdraw: (actor: string, clientId: string, restuid: string) => Promise<void>;
  /** Null means all. */
  setScopes: (actor: string, clientId: string, scopes: readonly string[] | null, check: CheckClient) => Promise<void>;
  /** Takes the named scopes away and no others, and returns those that are left. */
  shrinkScopes: (actor: string, clientId: string, unused: readonly string[]) => Promise<readonly string[]>;
  /** In the order of `clients`. The reading is recorded in the audit before the result is returned. */
  clientUse: (
    actor: string,
    clients: readonly Pick<ListedClient, 'clientId' | 'scopes'>[],
    days: number,
  ) => Promise<ClientUse[]>;
  /** A text that differs after a change of any credential. */
  credentialsMark: () => Promise<string>;
  /**
   * A text that differs after a call: of that client at once, of any client some seconds later. It is not recorded in
   * the audit.
   */
  callsMark: (clientId: string | undefined) => Promise<string>;
  /** A text that differs when the use of credentials may have been written. */
  useMark: () => Promise<string>;
};
