/** What the pages of the area "restaurant" call; `src/app/panel/restaurant-ports.ts` implements it over the features. */

export type ListedRestaurant = { restuid: string; name: string; apiEnabled: boolean };

export type PanelRestaurant = ListedRestaurant & { timeZone: string };

/** `next`: cursor of the page that follows; undefined at the end. */
export type Listed<T> = { items: readonly T[]; next: string | undefined };

export type ApiKey = {
  keyId: string;
  name: string;
  state: 'active' | 'quarantined' | 'revoked' | 'expired';
  /** Why its state is not as it was made. */
  reason: string | undefined;
  created: Date;
  expires: Date | undefined;
  calls5m: number;
  lastUsed: Date | undefined;
  lastAddress: string | undefined;
  /** Not used in the last five minutes. */
  isQuiet: boolean;
};

/** `value` is shown this once. */
export type NewKey = { keyId: string; value: string };

export type RestaurantPorts = {
  /** Where the API answers. */
  origin: string;
  /** By name. `among`: only these; undefined: all. `text`: a restaurant id or how the name begins. */
  list(search: {
    among: readonly string[] | undefined;
    text: string;
    after: string | undefined;
    limit: number;
  }): Promise<Listed<ListedRestaurant>>;
  find(restuid: string): Promise<PanelRestaurant | undefined>;
  setApiEnabled(actor: string, restuid: string, enabled: boolean): Promise<void>;
  keys: KeyPorts;
};

/** A key of another restaurant is NOT_FOUND, as one that does not exist. */
export type KeyPorts = {
  /** Newest first; those that open nothing any more with `ended`. */
  list(restuid: string, page: { ended: boolean; after: string | undefined; limit: number }): Promise<Listed<ApiKey>>;
  find(restuid: string, keyId: string): Promise<ApiKey | undefined>;
  /** `lastDay`: `YYYY-MM-DD` in the zone of the restaurant. Throws VALIDATION_ERROR for one that is over or no day. */
  create(actor: string, restuid: string, key: { name: string; lastDay: string | undefined }): Promise<NewKey>;
  /** The old key goes on for so many hours, 0 to 720. */
  rotate(actor: string, restuid: string, keyId: string, overlapHours: number): Promise<NewKey>;
  revoke(actor: string, restuid: string, keyId: string): Promise<void>;
};
