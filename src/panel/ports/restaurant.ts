/** The port of the pages about a restaurant; `src/app/panel/restaurant-ports.ts` implements it with the features. */

export type ListedRestaurant = { restuid: string; name: string; apiEnabled: boolean };

export type PanelRestaurant = ListedRestaurant & { timeZone: string };

/** One page of a list. `next`: cursor of the next page; undefined on the last page. */
export type Listed<T> = { items: readonly T[]; next: string | undefined };

export type ApiKey = {
  id: string;
  name: string;
  state: 'active' | 'quarantined' | 'revoked' | 'expired';
  /** Reason and time of the last change of the state. */
  reason: string | null;
  changed: Date | null;
  created: Date;
  expires: Date | null;
  calls5m: number;
  lastUsed: Date | null;
  lastAddress: string | null;
  /** A report said that its value is known to others. */
  leaked: boolean;
  /** It was not used in the last five minutes. */
  isQuiet: boolean;
  /**
   * A newer key of the same name is in use, and this one has been silent for more than a day and for longer than ever
   * before.
   */
  safeToRetire: boolean;
};

/** `value` is shown once and cannot be read again. */
export type NewKey = { keyId: string; value: string };

export type RestaurantPorts = {
  /** Public origin of the API. */
  origin: string;
  /** Ordered by name, among `restuids`. `text`: a restaurant id or a part of the name. */
  list(search: {
    among: readonly string[];
    text: string;
    after: string | undefined;
    limit: number;
  }): Promise<Listed<ListedRestaurant>>;
  /** A text that differs after a change of a restaurant or of its API access. */
  mark(): Promise<string>;
  find(restuid: string): Promise<PanelRestaurant | undefined>;
  setApiEnabled(actor: string, restuid: string, enabled: boolean): Promise<void>;
  keys: KeyPorts;
  notifications: NotificationPorts;
  endpoints: EndpointPorts;
  deliveries: DeliveryPorts;
};

/** Throws NOT_FOUND for a key of another restaurant, as for one that does not exist. */
export type KeyPorts = {
  /** Newest first. `ended`: the revoked and expired keys instead of the live ones. */
  list(restuid: string, page: { ended: boolean; after: string | undefined; limit: number }): Promise<Listed<ApiKey>>;
  find(restuid: string, keyId: string): Promise<ApiKey | undefined>;
  /** `lastDay`: `YYYY-MM-DD` in the restaurant's time zone. Throws VALIDATION_ERROR for a past or invalid day. */
  create(actor: string, restuid: string, key: { name: string; lastDay: string | undefined }): Promise<NewKey>;
  /**
   * The old key stays valid for `overlapHours`, 0 to 720. The new one ends with `lastDay`, as at `create`. It is not in quarantine.
   * `refuseQuarantined`: CONFLICT when the old one is.
   */
  rotate(
    actor: string,
    restuid: string,
    keyId: string,
    how: { overlapHours: number; lastDay: string | undefined; refuseQuarantined: boolean },
  ): Promise<NewKey>;
  revoke(actor: string, restuid: string, keyId: string): Promise<void>;
  /** Ends its quarantine. `check` refuses it by throwing; it gets what is stored under the lock of the key. */
  reactivate(
    actor: string,
    restuid: string,
    keyId: string,
    reason: string,
    check: (stored: ApiKey) => void,
  ): Promise<void>;
};

export type EventKind = 'customers' | 'orders' | 'loyaltylog' | 'menu';

type NotificationPorts = {
  /** Whether a kind of events is recorded and sent; a kind without a value is not. */
  read(restuid: string): Promise<Readonly<Partial<Record<string, boolean>>>>;
  set(actor: string, restuid: string, kind: EventKind, on: boolean): Promise<void>;
};

/**
 * The next attempt. `planned`: not before `at`, which is in the future. `due`: as soon as possible. `behind`: after an earlier
 * event of the same entity. Where it is used, undefined means that there is no further attempt.
 */
export type NextTry = { kind: 'planned'; at: Date } | { kind: 'due' } | { kind: 'behind' };

export type WebhookEndpoint = {
  uid: string;
  url: string;
  description: string | null;
  kinds: readonly string[];
  /** Those of `kinds` that its owner may not read now. */
  withheldKinds: readonly string[];
  /** The panel, or the API client that created it. */
  ownerKind: 'panel' | 'api_client';
  ownerId: string;
  enabled: boolean;
  disabledReason: 'owner' | 'gone' | 'failing' | null;
  /** Time of the first failure after the last success. */
  failingSince: Date | null;
  lastSuccess: Date | null;
  lastFailure: Date | null;
  nextTry: NextTry | undefined;
  /** Null means the default of the installation. */
  signatureHeader: string | null;
  /** How deliveries are signed beside Standard Webhooks, such as `rfc9421:ed25519`; null for not at all. */
  signature: string | null;
  /** `webhook-signature` holds `v1a` beside `v1`. */
  v1a: boolean;
  /** What it logs in with at its receiver. `id`: subject, client or name of the header; `expires`: in ISO form. */
  authShown: { type: 'certificate' | 'oauth' | 'header'; id: string; expires: string | null } | null;
  /** `soon`: its certificate ends within 30 days; `ended`: it has ended; null for neither. */
  certificateEnds: 'soon' | 'ended' | null;
  maxPerSecond: number | null;
  digest: boolean;
  /** Until then events are signed with the former secret too. */
  previousSecretExpires: Date | null;
  created: Date;
};

/** What the form of an endpoint shows of it. */
export type EditedEndpoint = Pick<
  WebhookEndpoint,
  'url' | 'description' | 'kinds' | 'signatureHeader' | 'signature' | 'v1a' | 'maxPerSecond' | 'digest'
>;

/** The fields as the user typed them; null clears a value. */
export type EndpointFields = {
  url: string;
  description: string | null;
  kinds: readonly string[];
  signatureHeader: string | null;
  signature: string | null;
  /** `true` or `false`; null for the default of a new endpoint. */
  v1a: string | null;
  maxPerSecond: string | null;
  digest: boolean;
};

export type DeliveryAttempt = {
  number: number;
  started: Date;
  address: string | null;
  status: number | null;
  failure: AttemptFailure | null;
  retryAfterSeconds: number | null;
  /** The beginning of the response body. */
  response: string | null;
  dnsMs: number | null;
  connectMs: number | null;
  tlsMs: number | null;
  firstByteMs: number | null;
  totalMs: number;
};

type AttemptFailure = 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'status' | 'redirect' | 'target_refused';

/** The parameter `auth` of the interface (32.1), as the user typed it; members that are absent were left empty. */
export type EndpointLogin = { type: 'certificate' | 'oauth' | 'header' } & Readonly<Partial<Record<string, string>>>;

/**
 * Throws NOT_FOUND for an endpoint of another restaurant, as for one that does not exist, and VALIDATION_ERROR for
 * invalid fields.
 */
export type EndpointPorts = {
  /** Newest first. `after`: uid of the last endpoint of the page before. */
  list(restuid: string, page: { after: string | undefined; limit: number }): Promise<Listed<WebhookEndpoint>>;
  find(restuid: string, uid: string): Promise<WebhookEndpoint | undefined>;
  /** The secret is shown once. Throws CONFLICT when there are too many endpoints. */
  create(actor: string, restuid: string, fields: EndpointFields): Promise<{ uid: string; secret: string }>;
  /** Throws what `check` throws, which gets what is stored under the lock of the endpoint. */
  update(
    actor: string,
    restuid: string,
    uid: string,
    fields: EndpointFields,
    check: (stored: EditedEndpoint) => void,
  ): Promise<void>;
  /** What it logs in with at its receiver, in place of what it had; null removes it. */
  setLogin(actor: string, restuid: string, uid: string, login: EndpointLogin | null): Promise<void>;
  /** Disabling cancels the pending deliveries. */
  setEnabled(actor: string, restuid: string, uid: string, enabled: boolean): Promise<void>;
  remove(actor: string, restuid: string, uid: string): Promise<void>;
  /** The old secret signs too for `overlapHours`, 0 to 168. Throws CONFLICT while an earlier overlap runs. */
  rotateSecret(actor: string, restuid: string, uid: string, overlapHours: number): Promise<string>;
  /** Ends the overlap now. */
  finishRotation(actor: string, restuid: string, uid: string): Promise<void>;
  /** Types of events of which `test` can send an example. */
  exampleEvents: readonly string[];
  /** Sends one test event, or an example of a type, and waits for the result. */
  test(restuid: string, uid: string, exampleOf: string | undefined): Promise<DeliveryAttempt>;
  /** The results of the deliveries and of the attempts in each of the last `steps` spans of `stepMs`, the oldest first. */
  history(restuid: string, uid: string, span: { stepMs: number; steps: number }): Promise<readonly HealthStep[]>;
};

export type HealthStep = {
  start: Date;
  /** Confirmed by the first attempt, or by a later one. */
  atOnce: number;
  later: number;
  failed: number;
  cancelled: number;
  /** Every attempt so far failed, and another one follows. */
  retrying: number;
  /** Without an attempt so far. */
  open: number;
  /** Attempts that began in this span, of any delivery. */
  succeededAttempts: number;
  failedAttempts: number;
  /** There are more deliveries; only the newest are counted. */
  isPart: boolean;
};

type DeliveryState = 'pending' | 'waiting' | 'succeeded' | 'exhausted' | 'cancelled';

/** The state names of the interface. */
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
  redeliveryUid: string | null;
};

/** `lastAttempt`: null before the first one. */
export type ListedDelivery = Delivery & {
  lastAttempt: Pick<DeliveryAttempt, 'started' | 'status' | 'failure' | 'totalMs'> | null;
};

export type DeliverySearch = {
  endpointUid: string | undefined;
  eventId: string | undefined;
  event: string | undefined;
  state: DeliveryFilterState | undefined;
  /** Only deliveries of which an attempt was made. */
  tried?: boolean | undefined;
  redeliveryUid: string | undefined;
  since: Date | undefined;
  /** Only deliveries that were made up to then. */
  through?: Date | undefined;
};

/** `isMore`: there are more than were counted. */
export type BoundedCount = { count: number; isMore: boolean };
export type TabCounts = Readonly<Record<'all' | 'failed' | 'retrying' | 'delivered', BoundedCount>>;

export type DeliveryPorts = {
  /**
   * Newest first. A page with fewer than `limit` items and a `next` cursor means that the search was cut off; more may
   * follow.
   */
  search(
    restuid: string,
    search: DeliverySearch & { after: string | undefined; limit: number },
  ): Promise<Listed<ListedDelivery>>;
  /** Deliveries of each tab, whatever the state of the search; the cost is bounded. */
  count(restuid: string, search: DeliverySearch): Promise<TabCounts>;
  /**
   * The events of all deliveries that fit, each once for an endpoint; undefined for more than `max` deliveries, and where
   * these are too many to look through.
   */
  resendable(restuid: string, search: DeliverySearch, max: number): Promise<EventsOfEndpoint[] | undefined>;
  /** `body`: the payload, byte for byte. */
  find(
    restuid: string,
    uid: string,
  ): Promise<(Delivery & { body: string | null; attempts: readonly DeliveryAttempt[] }) | undefined>;
  /**
   * Sends the event again to the endpoint of the delivery. Throws CONFLICT while the endpoint is disabled, NOT_FOUND
   * when it was removed.
   */
  redeliver(actor: string, restuid: string, delivery: Pick<Delivery, 'endpointUid' | 'eventId'>): Promise<Redelivery>;
  /** Sends the events again; those that are no longer kept are left out. Throws as `redeliver` does. */
  redeliverEvents(actor: string, restuid: string, events: EventsOfEndpoint): Promise<Redelivery>;
  /**
   * Sends again all events since `since` that the endpoint has not confirmed. Throws VALIDATION_ERROR for a time beyond
   * the retention.
   */
  redeliverSince(actor: string, restuid: string, endpointUid: string, since: Date): Promise<Redelivery>;
  /** The progress of a redelivery; undefined when it does not exist or its retention is over. */
  redelivery(restuid: string, uid: string): Promise<RedeliveryProgress | undefined>;
  /** A text that differs after a change of deliveries or endpoints. */
  mark(restuid: string): Promise<string>;
};

/**
 * State `running`: events are still being queued. `sending`: all events are queued, and some are not finished. `finished`:
 * all have ended.
 */
export type RedeliveryProgress = {
  state: 'running' | 'sending' | 'finished';
  queued: number;
  counts: Readonly<Record<DeliveryState, number>>;
};

export type EventsOfEndpoint = { endpointUid: string; eventIds: readonly string[] };

/** `queued`: the number of events so far; it grows while the state is `running`. */
export type Redelivery = { uid: string; queued: number; state: 'running' | 'done' };
