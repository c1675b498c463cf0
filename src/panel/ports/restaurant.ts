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
  /** A newer key of that name was used, and this one was silent for longer than a day and than ever before. */
  isSafeToRetire: boolean;
};

/** `value` is shown this once. */
export type NewKey = { keyId: string; value: string };

export type RestaurantPorts = {
  /** Where the API answers. */
  origin: string;
  /** By name, among these. `text`: a restaurant id or part of the name. */
  list(search: {
    among: readonly string[];
    text: string;
    after: string | undefined;
    limit: number;
  }): Promise<Listed<ListedRestaurant>>;
  /** Changes when a restaurant, or its API access, does. */
  mark(): Promise<string>;
  find(restuid: string): Promise<PanelRestaurant | undefined>;
  setApiEnabled(actor: string, restuid: string, enabled: boolean): Promise<void>;
  keys: KeyPorts;
  notifications: NotificationPorts;
  endpoints: EndpointPorts;
  deliveries: DeliveryPorts;
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

export type EventKind = 'customers' | 'orders' | 'loyaltylog' | 'menu';

export type NotificationPorts = {
  /** Which kinds of events are recorded and sent. */
  read(restuid: string): Promise<Readonly<Record<EventKind, boolean>>>;
  set(actor: string, restuid: string, kind: EventKind, on: boolean): Promise<void>;
};

/**
 * `planned`: not before `at`, which is still to come. `due`: now, when it is its turn. `behind`: after an earlier event about
 * the same thing. Undefined where it is used: nothing is tried any more.
 */
export type NextTry = { kind: 'planned'; at: Date } | { kind: 'due' } | { kind: 'behind' };

export type WebhookEndpoint = {
  uid: string;
  url: string;
  description: string | undefined;
  kinds: readonly EventKind[];
  /** Made here, or by an API client through the API. */
  owner: { kind: 'panel' | 'client'; id: string };
  enabled: boolean;
  disabledReason: 'owner' | 'gone' | 'failing' | undefined;
  /** First failure after the last success. */
  failingSince: Date | undefined;
  lastSuccess: Date | undefined;
  lastFailure: Date | undefined;
  nextTry: NextTry | undefined;
  /** Undefined: that of the installation. */
  signatureHeader: string | undefined;
  maxPerSecond: number | undefined;
  digest: boolean;
  /** Until then the secret before signs too. */
  previousSecretExpires: Date | undefined;
  created: Date;
};

/** As a person typed it; undefined clears it. */
export type EndpointFields = {
  url: string;
  description: string | undefined;
  kinds: readonly string[];
  signatureHeader: string | undefined;
  maxPerSecond: string | undefined;
  digest: boolean;
};

export type DeliveryAttempt = {
  number: number;
  started: Date;
  address: string | undefined;
  status: number | undefined;
  failure: AttemptFailure | undefined;
  retryAfterSeconds: number | undefined;
  /** What the receiver answered, shortened. */
  response: string | undefined;
  ms: Readonly<Record<AttemptPart, number | undefined>> & { total: number };
};

export type AttemptPart = 'dns' | 'connect' | 'tls' | 'firstByte';

export type AttemptFailure = 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'status' | 'redirect' | 'target_refused';

/** An endpoint of another restaurant is NOT_FOUND, as one that does not exist. What was typed wrong: VALIDATION_ERROR. */
export type EndpointPorts = {
  /** Newest first; `after`: uid of the last one seen. */
  list(restuid: string, page: { after: string | undefined; limit: number }): Promise<Listed<WebhookEndpoint>>;
  find(restuid: string, uid: string): Promise<WebhookEndpoint | undefined>;
  /** The secret is shown this once. CONFLICT when there are too many. */
  create(actor: string, restuid: string, fields: EndpointFields): Promise<{ uid: string; secret: string }>;
  update(actor: string, restuid: string, uid: string, fields: EndpointFields): Promise<void>;
  /** Disabling cancels what was still to be sent. */
  setEnabled(actor: string, restuid: string, uid: string, enabled: boolean): Promise<void>;
  remove(actor: string, restuid: string, uid: string): Promise<void>;
  /** The old secret signs too for so many hours, 0 to 168. CONFLICT while it does since the last time. */
  rotateSecret(actor: string, restuid: string, uid: string, overlapHours: number): Promise<string>;
  /** Ends the old secret now. */
  finishRotation(actor: string, restuid: string, uid: string): Promise<void>;
  /** Sends one test event now. */
  test(actor: string, restuid: string, uid: string): Promise<DeliveryAttempt>;
  /** What became of the deliveries of each of `steps` spans of `stepMs` until now, the oldest first. */
  history(restuid: string, uid: string, span: { stepMs: number; steps: number }): Promise<readonly HealthStep[]>;
};

export type HealthStep = {
  start: Date;
  /** Confirmed by the first attempt, and by a later one. */
  atOnce: number;
  later: number;
  failed: number;
  cancelled: number;
  /** Every attempt so far failed, and another one comes. */
  retrying: number;
  /** Not tried yet. */
  open: number;
  /** Attempts that failed, of all of them. */
  failedAttempts: number;
  /** There were more: these are the newest. */
  isPart: boolean;
};

export type DeliveryState = 'pending' | 'waiting' | 'succeeded' | 'exhausted' | 'cancelled';

/** The words of the interface. */
export type DeliveryFilterState = DeliveryState;

export type Delivery = {
  uid: string;
  endpointUid: string;
  eventId: string;
  event: string;
  entity: string;
  seq: number;
  state: DeliveryState;
  attemptsCount: number;
  nextTry: NextTry | undefined;
  created: Date;
  redeliveryUid: string | undefined;
};

export type DeliverySearch = {
  endpointUid: string | undefined;
  eventId: string | undefined;
  event: string | undefined;
  state: DeliveryFilterState | undefined;
  redeliveryUid: string | undefined;
  since: Date | undefined;
  after: string | undefined;
  limit: number;
};

export type DeliveryPorts = {
  /** Newest first. Fewer than `limit` with `next`: there may be more behind what was looked at. */
  search(restuid: string, search: DeliverySearch): Promise<Listed<Delivery>>;
  /** `body`: exactly what is sent. */
  find(
    restuid: string,
    uid: string,
  ): Promise<(Delivery & { body: string | undefined; attempts: readonly DeliveryAttempt[] }) | undefined>;
  /** Sends the event again to the endpoint of the delivery. CONFLICT while it is disabled, NOT_FOUND when it is gone. */
  redeliver(actor: string, restuid: string, delivery: Pick<Delivery, 'endpointUid' | 'eventId'>): Promise<Redelivery>;
  /** Sends again what the endpoint has not confirmed since. VALIDATION_ERROR for a time too long ago. */
  redeliverSince(actor: string, restuid: string, endpointUid: string, since: Date): Promise<Redelivery>;
  /** How far it is; undefined when there is none, or it is no longer kept. */
  redelivery(restuid: string, uid: string): Promise<RedeliveryProgress | undefined>;
  /** Differs when something about deliveries or endpoints changed. */
  mark(restuid: string): Promise<string>;
};

/**
 * `running`: events are still being queued. `sending`: all are, and `open` of them are not finished. `finished`: nothing is left
 * to do. `failed`: every attempt failed, or they were cancelled.
 */
export type RedeliveryProgress = {
  state: 'running' | 'sending' | 'finished';
  queued: number;
  arrived: number;
  failed: number;
  open: number;
};

/** `queued` so far; more come while it runs. */
export type Redelivery = { uid: string; queued: number; isRunning: boolean };
