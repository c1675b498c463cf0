/** Decides whether an API key is accepted (interface 3.2). */
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import { isOver, type KeyRecord } from '../credentials/lookup/records.ts';
import type { Principal } from '../model/principal.ts';
import { endedDetail, leakedTrace, TracedFault } from '../model/traced-fault.ts';
import { refuseQuarantined } from './credential-refusals.ts';
import { type Admitted, endedPrincipal, isKeyLive } from './ended-principal.ts';
import type { Principals } from './principals.ts';

type CheckKeyDeps = { clock: Clock; principals: Pick<Principals, 'ofKey'> };

/** `record`: undefined when there is no such key. Throws INVALID_KEY or UNAUTHORIZED. */
export type CheckKey = (record: KeyRecord | undefined, admitted: Admitted) => Principal;

export const createCheckKey = ({ clock, principals }: CheckKeyDeps): CheckKey => {
  return (record, admitted) => {
    if (record === undefined) throw keyRefused();
    const nowMs = clock.now().getTime();
    if (admitted === 'ended' && !isKeyLive(record, nowMs)) return endedPrincipal('api_key', record.keyId);
    if (record.revoked) throw keyRevoked(record);
    if (isOver(record.expiresMs, nowMs)) throw keyEnded(record, nowMs);
    refuseQuarantined(record.keyId, 'API key', record.quarantinedReason, [record.tenant]);
    return principals.ofKey(record);
  };
};

export const keyRefused = (): Fault => new Fault('INVALID_KEY', 'The API key is not valid');

const keyRevoked = ({ keyId, tenant, leakedMs }: KeyRecord): Fault =>
  new TracedFault('INVALID_KEY', keyRefused().publicText, {
    ...(leakedMs === null ? { callerId: keyId, reason: 'key_revoked' } : leakedTrace(keyId, leakedMs)),
    tenants: [tenant],
  });

const keyEnded = ({ keyId, tenant, expiresMs }: KeyRecord, nowMs: number): Fault =>
  new TracedFault('INVALID_KEY', keyRefused().publicText, {
    callerId: keyId,
    reason: 'key_expired',
    tenants: [tenant],
    detail: endedDetail(expiresMs ?? nowMs, nowMs),
  });
