/**
 * An event as readers of the audit get it, and its exported form. Exported names follow the Elastic Common Schema; fields
 * that the schema does not define have the prefix `orderpass`. A name never changes its meaning: a new meaning gets a new
 * name.
 */
import { isIP } from 'node:net';
import type { AuditAction, ChainedEvent } from './event.ts';

export type FoundEvent = {
  /** The position: chain and number; a third number for one of several tokens in a stored event. */
  id: string;
  at: Date;
  action: AuditAction;
  outcome: 'success' | 'failure';
  reason: string | null;
  /** The number of requests that the event represents. */
  count: number;
  requestIds: readonly string[];
  fingerprint: string | null;
  kind: string | null;
  credentialId: string | null;
  tokenId: string | null;
  clientId: string | null;
  tenants: readonly string[];
  routeId: string | null;
  scopes: readonly string[];
  address: string | null;
  actor: string | null;
  details: unknown;
  /** Lower-case hex. */
  hash: string;
  /** See markSigned; undefined when it was not checked. */
  signed: boolean | undefined;
};

/** `use`: see ShownEvent; `signed`: see markSigned. */
export const toFound = (event: ChainedEvent & { use?: number; signed?: boolean }): FoundEvent => ({
  id: event.use === undefined ? `${event.chain}-${event.seq}` : `${event.chain}-${event.seq}-${event.use}`,
  at: event.at,
  action: event.action,
  outcome: event.outcome,
  reason: event.reason,
  count: event.count,
  requestIds: event.request_ids,
  fingerprint: event.fingerprint,
  kind: event.kind,
  credentialId: event.credential_id,
  tokenId: event.token_id,
  clientId: event.client_id,
  tenants: event.tenants,
  routeId: event.route_id,
  scopes: event.scopes,
  address: event.address,
  actor: event.actor,
  details: readDetails(event.details),
  hash: event.hash,
  signed: event.signed,
});

/** A writer of the tables may have stored a text that is no JSON. */
const readDetails = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
};

/** The members of `details`; none when a writer of the tables stored something else. */
export const detailsOf = (text: string): Record<string, unknown> => {
  const details = readDetails(text);
  return typeof details === 'object' && details !== null ? { ...details } : {};
};

/** The exported form, for files, sinks and the command line. */
export const toEcs = (event: FoundEvent): Record<string, unknown> => ({
  '@timestamp': event.at.toISOString(),
  'event.id': event.id,
  'event.hash': event.hash,
  'event.action': event.action,
  'event.outcome': event.outcome,
  'event.reason': event.reason,
  'http.request.id': event.requestIds,
  // The schema has addresses alone under this name, and an index with its types refuses a document with another text there.
  'source.ip': event.address !== null && isIP(event.address) !== 0 ? event.address : null,
  'user.name': event.actor,
  'orderpass.count': event.count,
  'orderpass.credential.fingerprint': event.fingerprint,
  'orderpass.credential.kind': event.kind,
  'orderpass.credential.id': event.credentialId,
  'orderpass.token.id': event.tokenId,
  'orderpass.client.id': event.clientId,
  'orderpass.tenants': event.tenants,
  'orderpass.route.id': event.routeId,
  'orderpass.scopes': event.scopes,
  'orderpass.details': event.details,
  ...(event.signed === undefined ? undefined : { 'orderpass.signed': event.signed }),
  // Of events of release 1.0.0 and of counted floods: the /64 network of IPv6 addresses.
  'orderpass.source.network': event.address?.includes('/') ? event.address : null,
});
