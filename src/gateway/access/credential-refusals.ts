/**
 * Refusals of credentials. A refused client always gets the same text; the reason is readable later for a holder of one of
 * its own secrets only (interface 11.5).
 */
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { Fault } from '#src/contract/fault.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { SecretRow } from '../credentials/lookup/credential-store.ts';
import type { ClientRecord } from '../credentials/lookup/records.ts';
import { quarantineText } from '../model/faults.ts';
import { leakedTrace, type Trace, TracedFault } from '../model/traced-fault.ts';

/** One text for an unknown client, a disabled one and a wrong or ended secret. */
const text = 'Client authentication failed';

export const unknownClient = (): Fault => new Fault('INVALID_AUTH', text);

export const clientRefused = (
  box: Pick<SecretBox, 'digest'>,
  record: ClientRecord | undefined,
  secret: string,
): Fault =>
  record === undefined ? unknownClient() : new TracedFault('INVALID_AUTH', text, traceOf(box, record, secret));

const traceOf = (box: Pick<SecretBox, 'digest'>, record: ClientRecord, secret: string): Trace => {
  const { clientId: callerId } = record;
  if (record.disabled) return { callerId, reason: 'client_disabled' };
  const had = findSecret(box, record, secret);
  if (had === undefined) return { callerId, reason: 'secret_wrong' };
  return had.leakedMs === null ? { callerId, reason: 'secret_ended' } : leakedTrace(callerId, had.leakedMs);
};

const findSecret = (
  box: Pick<SecretBox, 'digest'>,
  { secrets }: ClientRecord,
  secret: string,
): SecretRow | undefined => {
  const digest = box.digest(secret);
  return secrets.find((candidate) => equalInConstantTime(candidate.digest, digest));
};

/** True when the text is, or once was, a secret of this client. */
export const hadSecret = (box: Pick<SecretBox, 'digest'>, record: ClientRecord, secret: string): boolean =>
  findSecret(box, record, secret) !== undefined;

/** `reason`: as the operator gave it; null when the credential is not quarantined. `tenants`: see Trace. */
export const refuseQuarantined = (
  callerId: string,
  what: string,
  reason: string | null,
  tenants?: readonly string[],
): void => {
  if (reason === null) return;
  throw new TracedFault('UNAUTHORIZED', quarantineText(what, reason), {
    callerId,
    reason: 'quarantined',
    ...(tenants !== undefined && { tenants }),
  });
};
