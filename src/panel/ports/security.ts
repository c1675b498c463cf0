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
  since?: Date;
  until?: Date;
};

export type AuditPage = { entries: readonly AuditEntry[]; next: string | undefined };

export type SecurityPorts = {
  /** Names of events, as a filter takes them. */
  actions: readonly string[];
  /** Ids of the routes of the gateway. */
  routes(): readonly string[];
  /** Newest first. Faults: VALIDATION_ERROR for a cursor that no search gave, or a credential in a filter. */
  searchAudit(by: Reader, search: { filter: AuditFilter; before?: string; limit: number }): Promise<AuditPage>;
  findEvent(by: Reader, id: string): Promise<AuditEntry | undefined>;
};
