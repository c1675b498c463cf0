/**
 * Pure: callers whose credential has ended. They may read why they were refused, and nothing else (interface 11.5).
 */

import type { SecretRow } from '../credentials/lookup/credential-store.ts';
import { type ClientRecord, isOver, type KeyRecord } from '../credentials/lookup/records.ts';
import type { Principal } from '../model/principal.ts';

/**
 * Which callers a route accepts. `disabled`: also a caller whose only tenant has its API access off. `ended`: also a key or
 * client that has ended.
 */
export type Admitted = 'live' | 'disabled' | 'ended';

export const isKeyLive = ({ revoked, expiresMs, quarantinedReason, tenants }: KeyRecord, nowMs: number): boolean =>
  !revoked && !isOver(expiresMs, nowMs) && quarantinedReason === null && tenants.length > 0;

/** `proof`: the live secret that was presented; undefined when it is not a live one. */
export const isClientLive = (record: ClientRecord, proof: SecretRow | undefined): boolean =>
  proof !== undefined &&
  proof.quarantinedReason === null &&
  record.quarantinedReason === null &&
  record.tenants.length > 0;

const noScopes: ReadonlySet<string> = new Set();

/** A caller that is known and reaches no tenant and no scope. */
export const endedPrincipal = (kind: 'api_key' | 'api_client', id: string): Principal =>
  Object.freeze({
    kind,
    id,
    credentialId: id,
    tenants: [],
    tenantsDisabled: [],
    scopes: noScopes,
    asserted: { kind, id, tenants: [], tenants_disabled: [], scopes: [] },
  });
