/** The port of the start page, of the search and of the choice of restaurants; `src/app/panel/overview-ports.ts` implements it. */

/** Counts of orders stop at `countMax`. */
type RestaurantDay = {
  restuid: string;
  name: string;
  /** The day `YYYY-MM-DD` of the restaurant. */
  day: string;
  today: number;
  /** Of the same day of last week up to the same time. */
  lastWeek: number;
};

type EndpointFailure = {
  restuid: string;
  uid: string;
  url: string;
  failingSince: Date | null;
  /** It was disabled because it failed, or because its receiver is gone. */
  isDisabled: boolean;
};

type EndingKey = { restuid: string; keyId: string; name: string; expires: Date };

export const firstSteps = ['key', 'call', 'endpoint', 'event', 'order'] as const;
export type FirstStep = (typeof firstSteps)[number];

export type OwnerFigures = {
  /** The first restaurants by name, at most 20. */
  days: readonly RestaurantDay[];
  countMax: number;
  /** Restaurants among which the rest was looked for: the first ones by name, at most 200. */
  looked: number;
  failing: readonly EndpointFailure[];
  ending: readonly EndingKey[];
  /** Of the first restaurant that has not taken all of them; undefined when every one has. */
  begun: { restuid: string; name: string; done: readonly FirstStep[] } | undefined;
};

/** Of the newest restaurants, without sandboxes. */
export type InstallationFigures = Pick<OwnerFigures, 'failing' | 'ending'> & {
  /** Orders since midnight UTC, of each restaurant at most `countMax`. */
  orders: number;
  /** A count stopped, so there are more orders. */
  hasMoreOrders: boolean;
  /** How many were looked at, where there are more restaurants; undefined when all were. */
  looked: number | undefined;
  /** There are sandboxes, which are not counted. They are where there is no real restaurant. */
  leavesOutSandboxes: boolean;
};

/** A client, one of its secrets, or a key: `restuid` is that of a key, `client` that of a client or secret. */
export type NamedCaller = { id: string; name: string; restuid: string | null; client: string | null };

/** `since`: null when it is behind many later changes. */
type QuarantinedCaller = NamedCaller & { reason: string; since: Date | null };

type FailingCaller = NamedCaller & { calls: number; refused: number; failed: number };

type LimitedCaller = NamedCaller & {
  period: 'day' | 'month';
  units: number;
  /** Null: it has no limit of the period, but was refused by another one. */
  limit: number | null;
  /** Requests of today that a limit refused. */
  limited: number;
};

/** `count`: among the newest refusals of the installation. */
export type RefusedCaller = NamedCaller & {
  reason: string;
  code: string;
  count: number;
  last: Date;
  requestId: string;
};

/** Each list has at most 5 callers. */
export type CallerFigures = {
  quarantined: readonly QuarantinedCaller[];
  failing: readonly FailingCaller[];
  limited: readonly LimitedCaller[];
};

type ElsewhereCaller = NamedCaller & { calls: number; last: Date | null; address: string | null };

type RefusedAddress = { address: string; count: number };

/** `name`: host and process id. `version`: the release; null of one that does not report it yet. */
type RunningProcess = { name: string; role: string; version: string | null };

export type ProgramState = {
  /** Release of the process that made the page. */
  version: string;
  processes: readonly RunningProcess[];
  /** Versions of the route table that gateways serve. */
  gateways: readonly { gateway: string; version: string; isRefused: boolean }[];
};

/** Restaurants of an owner in which customers, keys, endpoints and requests are searched. */
export const searchedRestaurants = 200;

type FoundCustomer = {
  restuid: string;
  uid: string;
  firstName: string | null;
  lastName: string | null;
  email: string | null;
  phone: string | null;
};

export type LocatedKind = 'order' | 'customer' | 'endpoint' | 'delivery' | 'event' | 'key';

/** A key of a restaurant, or a client (`restuid` null). */
export type RequestCaller = { caller: string; restuid: string | null };

/** Every function reads a bounded number of rows along an index. */
export type OverviewPorts = {
  owner(restuids: readonly string[]): Promise<OwnerFigures>;
  /** Of at most 200 restaurants. */
  installation(): Promise<InstallationFigures>;
  callers(): Promise<CallerFigures>;
  /** The newest first, at most 5. */
  refusals(): Promise<readonly RefusedCaller[]>;
  /** Keys and clients that were used today from outside their networks, at most 5. */
  elsewhere(): Promise<readonly ElsewhereCaller[]>;
  /** Addresses with refused requests and no counted allowed one in the last 24 hours, the most refused first, at most 5. */
  onlyRefused(): Promise<readonly RefusedAddress[]>;
  program(): Promise<ProgramState>;
  /** The restaurant of an id. `among`: undefined searches every restaurant. */
  restaurantOf(kind: LocatedKind, id: string, among: readonly string[] | undefined): Promise<string | undefined>;
  /** The client of its id, or of the id of one of its secrets. */
  clientOf(id: string): Promise<string | undefined>;
  /** `among`: keys of these restaurants; undefined: every caller that was refused with this id. */
  callersOfRequest(requestId: string, among: readonly string[] | undefined): Promise<readonly RequestCaller[]>;
  /**
   * Customers at most `limit`. `among`: those of the first 200 of these restaurants, by the beginning of a name, email or phone;
   * undefined: those of the newest 5,000 restaurants, by a whole email or phone.
   */
  customers(text: string, among: readonly string[] | undefined, limit: number): Promise<readonly FoundCustomer[]>;
  /**
   * Live keys, at most `limit`. `among`: those of the first 200 of these restaurants whose name contains the text; undefined: every
   * key of exactly this name. Case is ignored.
   */
  keysByName(
    text: string,
    among: readonly string[] | undefined,
    limit: number,
  ): Promise<readonly { restuid: string; keyId: string; name: string }[]>;
  /**
   * Endpoints, at most `limit`. `among`: those of the first 200 of these restaurants whose URL contains the text; undefined: every
   * endpoint whose URL begins with it, with or without its scheme.
   */
  endpointsByUrl(
    text: string,
    among: readonly string[] | undefined,
    limit: number,
  ): Promise<readonly { restuid: string; uid: string; url: string }[]>;
  /** Users whose email begins with the text, at most `limit`. */
  usersByStart(start: string, limit: number): Promise<readonly { userId: string; email: string }[]>;
};
