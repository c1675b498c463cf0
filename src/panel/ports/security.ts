/**
 * The port of the pages of security. Reading the audit is recorded in the audit, so each function takes the reader
 * first.
 */

export type Reader = { actor: string; address: string };

/** One event of the audit. */
export type AuditEntry = {
  /** The position: chain and number. */
  id: string;
  at: Date;
  action: string;
  outcome: 'success' | 'failure';
  reason: string | null;
  /** The number of requests that the event stands for. */
  count: number;
  requestIds: readonly string[];
  fingerprint: string | null;
  kind: string | null;
  credentialId: string | null;
  tokenId: string | null;
  clientId: string | null;
  /** The restaurants that it is about. */
  tenants: readonly string[];
  routeId: string | null;
  scopes: readonly string[];
  address: string | null;
  actor: string | null;
  details: unknown;
  hash: string;
  /** False: no signed head covers the event, so it may be forged. Undefined: that was not checked. */
  signed: boolean | undefined;
};

export type AuditFilter = {
  client?: string;
  tenant?: string;
  outcome?: 'success' | 'failure';
  action?: string;
  route?: string;
  address?: string;
  requestId?: string;
  fingerprint?: string;
  credential?: string;
  tokenId?: string;
  /** Only events of tokens that were issued for this secret. */
  issuedFor?: string;
  /** Changes by this actor; of a user also those of the account. */
  actor?: string;
  since?: Date;
  until?: Date;
};

/** `searchedTo`: the search was cut off at this time; `next` continues with older events. */
export type AuditPage = {
  events: readonly AuditEntry[];
  next: string | undefined;
  searchedTo: Date | undefined;
};

/** A credential without its value, which never leaves the browser. */
export type HashedCredential = {
  kind: 'api_key' | 'client_secret' | 'client_certificate' | 'token';
  /** Key id, secret id, thumbprint or `jti`. */
  id: string;
  /** SHA-256 of the value, lower-case hex. */
  sha256: string;
};

type CredentialState = 'active' | 'quarantined' | 'revoked' | 'expired';

export type IssuedToken = {
  id: string;
  clientId: string | null;
  /** The secret or client key that the token was issued for. */
  parent: string | null;
  /** The token that it was exchanged from. */
  parentToken: string | null;
  issued: Date;
  expires: Date;
  scopes: readonly string[];
  address: string | null;
  state: 'live' | 'expired' | 'revoked';
};

export type CredentialTrace = {
  kind: HashedCredential['kind'];
  id: string;
  fingerprint: string;
  /** True when exactly this value was issued here. */
  genuine: boolean;
  /** True when a credential with this id was issued here. */
  exists: boolean;
  state: CredentialState | IssuedToken['state'] | undefined;
  clientId: string | null;
  parent: string | null;
  /** Of a token: the token that it was exchanged from. */
  parentToken: string | null;
  issued: AuditEntry | null;
  /** Requests with the credential: allowed, and refused. */
  calls: number;
  refused: number;
  /** There are more events of allowed requests than were counted; the use is that of the newest events. */
  partial: boolean;
  /** The same of refused requests. */
  refusedPartial: boolean;
  scopesUsed: readonly string[];
  addresses: readonly string[];
  /** There are more addresses than are listed. */
  moreAddresses: boolean;
  firstUsed: Date | null;
  lastUsed: Date | null;
  /** The number of tokens that were issued for it; `descendants` has the newest of them. */
  tokens: number;
  descendants: readonly IssuedToken[];
  /** How many of them are valid now. `partial`: at least so many. */
  liveTokens: { count: number; partial: boolean };
  /** The use of all these tokens. `partial`: only the newest events were counted. */
  issuedUse: {
    calls: number;
    refused: number;
    partial: boolean;
    addresses: readonly string[];
    moreAddresses: boolean;
    firstUsed: Date | null;
    lastUsed: Date | null;
  } | null;
  refusals: readonly AuditEntry[];
};

export const liveKinds = ['api_key', 'client_secret', 'client_key', 'client_certificate'] as const;
export type LiveKind = (typeof liveKinds)[number];

export type LiveCredential = {
  kind: LiveKind;
  id: string;
  name: string;
  /** The restaurant of a key; the client of any other. */
  holder: string;
  holderName: string;
  state: CredentialState;
  created: Date;
  expires: Date | null;
  lastUsed: Date | null;
  lastAddress: string | null;
};

export const chartDimensions = ['client', 'reason', 'route', 'address'] as const;
export type ChartDimension = (typeof chartDimensions)[number];

/** One number for each bucket. */
export type ChartSeries = { issued: readonly number[]; used: readonly number[]; refused: readonly number[] };

export type AuditChart = {
  /** Start of the first bucket. */
  from: Date;
  bucketSeconds: number;
  buckets: number;
  total: ChartSeries;
  /** The most frequent first. '' stands for events without a value, '*' for all values beyond the limit. */
  values: readonly { value: string; series: ChartSeries }[];
};

export const exportFormats = ['jsonl', 'csv'] as const;
type ExportFormat = (typeof exportFormats)[number];

type AuditProblemKind =
  | 'chainMissing'
  | 'headSignature'
  | 'anchorSignature'
  | 'eventMissing'
  | 'eventChanged'
  | 'eventNotSigned'
  | 'endMissing'
  | 'eventsBehind'
  | 'eventsBefore'
  | 'noHead'
  | 'headReplaced'
  | 'notContinued'
  | 'checkpointChanged';

export type Verification = {
  state: 'running' | 'interrupted' | 'sound' | 'broken';
  actor: string;
  started: Date;
  finished: Date | null;
  chains: number;
  events: number;
  /** Events that were written after the last signed head. */
  unsigned: number;
  /** The first error. `seq`: null when it is the chain as a whole. `upTo`: the last missing event. */
  problem: { chain: number; seq: number | null; kind: AuditProblemKind | undefined; upTo: string | undefined } | null;
};

/** The signed end of a chain. It proves that no event before it was removed. */
export type SignedHead = {
  chain: number;
  process: string;
  opened: Date;
  /** The number of its last event. */
  seq: number;
  signed: Date;
  closed: boolean;
};

/** The tree that the signed checkpoints are about. */
export type TreeState = {
  /** The number of events in the newest checkpoint. */
  size: number;
  /** Whether its last event is as it is stored now. `dropped`: the retention dropped it, or there is none yet. */
  last: 'same' | 'changed' | 'dropped';
  /** The time of that event. */
  newest: Date | null;
  /** Signed events that no checkpoint covers yet. */
  waiting: number;
};

/** Names by id, of restaurants, clients, keys and users. An id without an entry is unknown. */
export type AuditNames = ReadonlyMap<string, string>;

export type DryRun = {
  route: string;
  /** Id of the client or key. */
  caller: string;
  missingScopes: readonly string[];
  calls: number;
  firstSeen: Date;
  lastSeen: Date;
};

export type SecurityPorts = {
  /** The names of events that a filter accepts. */
  actions: readonly string[];
  /** The ids of the gateway's routes. */
  routes(): readonly string[];
  /** Newest first. Throws VALIDATION_ERROR for an invalid cursor, and for a credential in a filter. */
  searchAudit(by: Reader, search: { filter: AuditFilter; before?: string; limit: number }): Promise<AuditPage>;
  /** The names of the restaurants, clients, keys and users in these events. */
  namesIn(events: readonly AuditEntry[]): Promise<AuditNames>;
  /** The names of these ids. */
  namesOf(ids: readonly string[]): Promise<AuditNames>;
  /** Throws VALIDATION_ERROR for a text with a credential, which must not be stored. */
  assertNoCredential(filter: AuditFilter, name: string): void;
  describeTree(): Promise<TreeState>;
  findEvent(by: Reader, id: string): Promise<AuditEntry | undefined>;
  /**
   * Newest first. A page may have fewer than `limit` items and still a next page. Throws VALIDATION_ERROR for an
   * invalid cursor.
   */
  listLiveTokens(
    by: Reader,
    page: { before?: string; limit: number },
  ): Promise<{ tokens: readonly IssuedToken[]; next: string | undefined }>;
  /** Newest first. Throws VALIDATION_ERROR for an invalid cursor. */
  listLiveCredentials(page: {
    kind: LiveKind;
    before?: string;
    limit: number;
  }): Promise<{ credentials: readonly LiveCredential[]; next: string | undefined }>;
  /** `days`: 1, 7 or 30. `value`: count only events with this value. */
  chart(by: Reader, of: { days: number; dimension: ChartDimension; value?: string }): Promise<AuditChart>;
  /** Resolves when the reading is recorded in the audit; the text is streamed. Throws as `searchAudit` does. */
  exportAudit(by: Reader, of: { filter: AuditFilter; format: ExportFormat }): Promise<AsyncIterable<string>>;
  /** Newest first. */
  listVerifications(limit: number): Promise<readonly Verification[]>;
  /** Starts a verification, which runs on after this resolves. False when one is running already. */
  startVerification(by: Reader): Promise<boolean>;
  /** Newest chain first. `before`: the number of a chain. */
  listHeads(page: { before?: number; limit: number }): Promise<readonly SignedHead[]>;
  /** The latest first. Throws VALIDATION_ERROR for an invalid cursor. */
  listDryRuns(page: {
    days: number;
    before?: string;
    limit: number;
  }): Promise<{ dryRuns: readonly DryRun[]; next: string | undefined }>;
  /** The trial scopes by route id. */
  triedScopes(): readonly { route: string; scopes: readonly string[] }[];
  /** A text that differs after each change of a credential. */
  credentialMark(): Promise<string>;
  /** A text that differs after each event of the audit except readings, because the page itself causes those. */
  auditMark(): Promise<string>;
  /** Throws VALIDATION_ERROR for an invalid hash or id. */
  trace(by: Reader, hashed: HashedCredential): Promise<CredentialTrace>;
  /**
   * Revokes the credential and everything that was issued for it; returns the audit events that prove it. Throws
   * VALIDATION_ERROR and changes nothing when it is not proven that exactly this value was issued here.
   */
  revoke(by: Reader, hashed: HashedCredential): Promise<readonly AuditEntry[]>;
};
