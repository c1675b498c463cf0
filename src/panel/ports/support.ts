/** What the pages of the area "support" call; `src/app/panel/support-ports.ts` implements it over the features. */

export type SupportRestaurant = {
  restuid: string;
  name: string;
  timeZone: string;
  currency: string;
  apiEnabled: boolean;
};

export type NewRestaurant = { name: string; timeZone: string; currency: string };

export type ClientState = 'active' | 'quarantined' | 'revoked';

export type ListedClient = {
  clientId: string;
  name: string;
  state: ClientState;
  created: Date;
  /** null: all. */
  scopes: readonly string[] | null;
  restaurants: number;
  lastUsed: Date | null;
};

export type SecretState = ClientState | 'expired';

export type ShownSecret = {
  id: string;
  state: SecretState;
  /** Of the last change of the state. */
  reason: string | null;
  created: Date;
  expires: Date | null;
  calls5m: number;
  lastUsed: Date | null;
  lastAddress: string | null;
  /** Longest time between two uses that was seen; 0 before the second one. */
  longestGapSeconds: number;
  /** What is known about ending it; null for one that has ended. Only `safe` says that its end harms nobody. */
  advice: 'only_one' | 'not_used_yet' | 'newest' | 'successor_not_used' | 'used_lately' | 'safe' | null;
};

export type ShownClient = Omit<ListedClient, 'restaurants' | 'lastUsed'> & {
  reason: string | null;
  actor: string | null;
  changed: Date | null;
  mayUseTokens: boolean;
  mayIntrospect: boolean;
  dpopRequired: boolean;
  secrets: readonly ShownSecret[];
  /** Public keys for private_key_jwt. */
  keys: readonly { id: string; type: string; state: SecretState; calls5m: number; lastUsed: Date | null }[];
};

export type NewClient = {
  name: string;
  restaurants: readonly string[];
  /** null: all, later ones included. */
  scopes: readonly string[] | null;
  mayIntrospect: boolean;
  dpopRequired: boolean;
};

export type Scope = { name: string; description: string; isRead: boolean };

export type ClientUse = {
  clientId: string;
  /** From when on calls were looked at. */
  since: Date;
  calls: number;
  routes: readonly { method: string; path: string; calls: number; last: Date }[];
  refusals: readonly { path: string | null; reason: string | null; calls: number; last: Date }[];
  scopes: readonly { name: string; calls: number; last: Date | null }[];
  unused: readonly string[];
  /** What is left when unused ones are withdrawn. */
  proposed: readonly string[];
};

/** Where something went on: the cursor of the next page, null at the end. */
type Next = { next: string | null };

/** Throws Faults: NOT_FOUND for ids that do not exist, VALIDATION_ERROR and CONFLICT for what is refused. */
export type SupportPorts = {
  /** Newest first; `search`: the beginning of a uid, or words of the name. */
  listRestaurants: (search: string, cursor: string | undefined) => Promise<{ restaurants: SupportRestaurant[] } & Next>;
  findRestaurant: (restuid: string) => Promise<SupportRestaurant | undefined>;
  /** Of those that exist. */
  namesOf: (restuids: readonly string[]) => Promise<SupportRestaurant[]>;
  createRestaurant: (actor: string, restaurant: NewRestaurant) => Promise<string>;
  /** `restaurant`: only clients that it is granted to. `live`: without those that are disabled. */
  listClients: (
    search: { text?: string; restaurant?: string; live?: boolean },
    cursor: string | undefined,
  ) => Promise<{ clients: ListedClient[] } & Next>;
  showClient: (clientId: string) => Promise<ShownClient>;
  listGrants: (clientId: string, cursor: string | undefined) => Promise<{ restaurants: SupportRestaurant[] } & Next>;
  scopes: readonly Scope[];
  createClient: (actor: string, client: NewClient) => Promise<{ clientId: string; secret: string }>;
  rotateSecret: (actor: string, clientId: string, overlapHours: number) => Promise<string>;
  retireSecret: (actor: string, clientId: string, secretId: string, force: boolean) => Promise<void>;
  disableClient: (actor: string, clientId: string) => Promise<void>;
  quarantine: (actor: string, clientId: string, reason: string) => Promise<void>;
  reactivate: (actor: string, clientId: string, reason: string) => Promise<void>;
  grant: (actor: string, clientId: string, restuids: readonly string[]) => Promise<void>;
  withdraw: (actor: string, clientId: string, restuid: string) => Promise<void>;
  /** null: all. */
  setScopes: (actor: string, clientId: string, scopes: readonly string[] | null) => Promise<void>;
  /** Leaves the scopes that are held and named; never adds one. Returns what is left. */
  shrinkScopes: (actor: string, clientId: string, keep: readonly string[]) => Promise<readonly string[]>;
  /** In the sequence of `clients`. Noted in the audit before anything is shown. */
  clientUse: (
    actor: string,
    clients: readonly Pick<ListedClient, 'clientId' | 'scopes'>[],
    days: number,
  ) => Promise<ClientUse[]>;
  /** Differs when a credential was changed. */
  credentialsMark: () => Promise<string>;
  /** Differs after calls: of that client at once, of any of them some seconds later. Noted nowhere: it tells nothing else. */
  callsMark: (clientId: string | undefined) => Promise<string>;
  /** Differs when the use of credentials may have been written again. */
  useMark: () => Promise<string>;
};
