/** What the area "security" calls. Reading the audit is part of the audit, so whoever reads is named first. */

export type Reader = { actor: string; address: string };

/** One event of the audit. */
export type AuditEntry = {
  /** Its place: chain and number. */
  id: string;
  at: Date;
  action: string;
  outcome: 'success' | 'failure';
  reason: string | null;
  /** Requests that it stands for. */
  count: number;
  requestIds: readonly string[];
  fingerprint: string | null;
  kind: string | null;
  credentialId: string | null;
  tokenId: string | null;
  clientId: string | null;
  restaurants: readonly string[];
  routeId: string | null;
  scopes: readonly string[];
  address: string | null;
  actor: string | null;
  details: unknown;
  hash: string;
};

export type AuditFilter = {
  client?: string;
  restaurant?: string;
  decision?: 'allow' | 'deny';
  action?: string;
  route?: string;
  address?: string;
  requestId?: string;
  fingerprint?: string;
  credential?: string;
  tokenId?: string;
  /** What was done with the tokens that were issued for this secret. */
  issuedFor?: string;
  since?: Date;
  until?: Date;
};

/** `searchedTo`: the page is not full because the search stopped at this time; what is older stands behind `next`. */
export type AuditPage = {
  entries: readonly AuditEntry[];
  next: string | undefined;
  searchedTo: Date | undefined;
};

/** The value itself stays with whoever holds it. */
export type HashedCredential = {
  kind: 'api_key' | 'client_secret' | 'token';
  /** Key id, secret id or `jti`. */
  id: string;
  /** Of the value, lower-case hex. */
  sha256: string;
};

export type CredentialState = 'active' | 'quarantined' | 'revoked' | 'expired';

export type IssuedToken = {
  id: string;
  clientId: string | null;
  /** Secret or client key that it was issued for. */
  parent: string | null;
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
  /** Exactly this value was issued here. */
  genuine: boolean;
  /** Something with this id was issued here. */
  exists: boolean;
  state: CredentialState | IssuedToken['state'] | undefined;
  clientId: string | null;
  restaurants: readonly string[];
  parent: string | null;
  issued: AuditEntry | undefined;
  /** Requests with it that were let through, and refused. */
  calls: number;
  refused: number;
  /** There were more than were counted: what is told of its use is that of the newest events. */
  partial: boolean;
  scopesUsed: readonly string[];
  addresses: readonly string[];
  firstUsed: Date | undefined;
  lastUsed: Date | undefined;
  /** How many tokens were issued for it; `descendants` are the newest of them. */
  tokens: number;
  descendants: readonly IssuedToken[];
  /** What was done with all of those tokens. `partial`: the newest of it. */
  issuedUse:
    | { calls: number; refused: number; partial: boolean; addresses: readonly string[]; lastUsed: Date | undefined }
    | undefined;
  refusals: readonly AuditEntry[];
};

export const liveKinds = ['api_key', 'client_secret', 'client_key'] as const;
export type LiveKind = (typeof liveKinds)[number];

export type LiveCredential = {
  kind: LiveKind;
  id: string;
  name: string;
  /** Restaurant of a key; client of a secret or of a client key. */
  holder: string;
  holderName: string;
  state: CredentialState;
  created: Date;
  expires: Date | undefined;
  lastUsed: Date | undefined;
  lastAddress: string | null;
};

export const chartDimensions = ['client', 'reason', 'route', 'address'] as const;
export type ChartDimension = (typeof chartDimensions)[number];

/** A number for each bucket. */
export type ChartSeries = { issued: readonly number[]; used: readonly number[]; refused: readonly number[] };

export type AuditChart = {
  /** Beginning of the first bucket. */
  from: Date;
  bucketSeconds: number;
  buckets: number;
  total: ChartSeries;
  /** The most frequent first. '' are those of which nobody knows it, '*' are all that were too many to be kept apart. */
  values: readonly { value: string; series: ChartSeries }[];
};

export const exportFormats = ['jsonl', 'csv'] as const;
export type ExportFormat = (typeof exportFormats)[number];

export type AuditProblemKind =
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
  finished: Date | undefined;
  chains: number;
  events: number;
  /** Written since a head was signed last. */
  unsigned: number;
  /** Where something is wrong: an event's place or a chain's number, and what; `upTo`: the last event that is missing. */
  problem: { place: string; kind: AuditProblemKind | undefined; upTo: string | undefined } | undefined;
};

/** The signed end of a chain: nobody can cut off what stands before it. */
export type SignedHead = {
  chain: number;
  process: string;
  opened: Date;
  /** Events up to it. */
  events: number;
  signed: Date;
  closed: boolean;
};

export type DryRun = {
  route: string;
  /** Client or key. */
  caller: string;
  missingScopes: readonly string[];
  calls: number;
  firstSeen: Date;
  lastSeen: Date;
};

export type SecurityPorts = {
  /** Names of events, as a filter takes them. */
  actions: readonly string[];
  /** Ids of the routes of the gateway. */
  routes(): readonly string[];
  /** Newest first. Faults: VALIDATION_ERROR for a cursor that no search gave, or a credential in a filter. */
  searchAudit(by: Reader, search: { filter: AuditFilter; before?: string; limit: number }): Promise<AuditPage>;
  findEvent(by: Reader, id: string): Promise<AuditEntry | undefined>;
  /** Newest first. A page may hold fewer than `limit` and yet have a next one. Faults: VALIDATION_ERROR for a cursor. */
  listLiveTokens(
    by: Reader,
    page: { before?: string; limit: number },
  ): Promise<{ tokens: readonly IssuedToken[]; next: string | undefined }>;
  /** Newest first. Faults: VALIDATION_ERROR for a cursor. */
  listLiveCredentials(page: {
    kind: LiveKind;
    before?: string;
    limit: number;
  }): Promise<{ credentials: readonly LiveCredential[]; next: string | undefined }>;
  /** `days`: 1, 7 or 30. With `value` the total is of this value alone. */
  chart(by: Reader, of: { days: number; dimension: ChartDimension; value?: string }): Promise<AuditChart>;
  /** Resolves when the reading is in the audit; the text comes as it is taken. Faults as `searchAudit` has them. */
  exportAudit(by: Reader, of: { filter: AuditFilter; format: ExportFormat }): Promise<AsyncIterable<string>>;
  /** Newest first. */
  listVerifications(limit: number): Promise<readonly Verification[]>;
  /** False: one is running. It goes on after this resolves. */
  startVerification(by: Reader): Promise<boolean>;
  /** Newest chain first; `before`: a chain's number. */
  listHeads(page: { before?: number; limit: number }): Promise<readonly SignedHead[]>;
  /** The latest first. Faults: VALIDATION_ERROR for a cursor. */
  listDryRuns(page: {
    days: number;
    before?: string;
    limit: number;
  }): Promise<{ dryRuns: readonly DryRun[]; next: string | undefined }>;
  /** Scopes that routes try out, as route -> scopes. */
  triedScopes(): readonly { route: string; scopes: readonly string[] }[];
  /** Another text after each change of a credential. */
  credentialMark(): Promise<string>;
  /** Another text after each event of the audit, readings left out: they come of looking. */
  auditMark(): Promise<string>;
  /** Fault VALIDATION_ERROR for what is no hash or no id. */
  trace(by: Reader, hashed: HashedCredential): Promise<CredentialTrace>;
  /**
   * Ends it and all that was issued for it; returns the events that prove it. Fault VALIDATION_ERROR, and nothing
   * changed, when nobody can tell that exactly this value was issued here.
   */
  revoke(by: Reader, hashed: HashedCredential): Promise<readonly AuditEntry[]>;
};
