/** Pure: whose credential is over, and what is left of it: it may learn why it was refused, and nothing else (interface 11.5). */

import type { SecretRow } from '../credentials/lookup/credential-store.ts';
import { type ClientRecord, isOver, type KeyRecord } from '../credentials/lookup/records.ts';
import type { Principal } from '../model/principal.ts';

export const isKeyLive = ({ revoked, expiresMs, quarantinedReason, tenants }: KeyRecord, nowMs: number): boolean =>
  !revoked && !isOver(expiresMs, nowMs) && quarantinedReason === null && tenants.length > 0;

/** `proof`: the live secret that was shown, if it was one. */
export const isClientLive = (record: ClientRecord, proof: SecretRow | undefined): boolean =>
  proof !== undefined &&
  proof.quarantinedReason === null &&
  record.quarantinedReason === null &&
  record.tenants.length > 0;

const noScopes: ReadonlySet<string> = new Set();

/** It is known for whom it was, and reaches nothing any more. */
export const endedPrincipal = (kind: 'api_key' | 'api_client', id: string): Principal =>
  Object.freeze({
    ...{ kind, id, credentialId: id, tenants: [], tenantsDisabled: [], scopes: noScopes },
    asserted: { kind, id, tenants: [], tenants_disabled: [], scopes: [] },
  });
