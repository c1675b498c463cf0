/**
 * Refusals of credentials. A refused client always gets the same text; the reason is readable later for a holder of one of
 * its own secrets only (interface 11.5).
 */
import { equalInConstantTime } from '#src/contract/equal-in-constant-time.ts';
import { Fault } from '#src/contract/fault.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { ClientRecord } from '../credentials/lookup/records.ts';
import { quarantineText } from '../model/faults.ts';
import { type DenialReason, TracedFault } from '../model/traced-fault.ts';

/** One text for an unknown client, a disabled one and a wrong or ended secret. */
const text = 'Client authentication failed';

export const unknownClient = (): Fault => new Fault('INVALID_AUTH', text);

export const clientRefused = (
  box: Pick<SecretBox, 'digest'>,
  record: ClientRecord | undefined,
  secret: string,
): Fault =>
  record === undefined
    ? unknownClient()
    : new TracedFault('INVALID_AUTH', text, { callerId: record.clientId, reason: reasonOf(box, record, secret) });

const reasonOf = (box: Pick<SecretBox, 'digest'>, record: ClientRecord, secret: string): DenialReason => {
  if (record.disabled) return 'client_disabled';
  return hadSecret(box, record, secret) ? 'secret_ended' : 'secret_wrong';
};

/** True when the text is, or once was, a secret of this client. */
export const hadSecret = (box: Pick<SecretBox, 'digest'>, { secrets }: ClientRecord, secret: string): boolean => {
  const digest = box.digest(secret);
  return secrets.some((candidate) => equalInConstantTime(candidate.digest, digest));
};

/** `reason`: as the operator gave it; null when the credential is not quarantined. */
export const refuseQuarantined = (callerId: string, what: string, reason: string | null): void => {
  if (reason === null) return;
  throw new TracedFault('UNAUTHORIZED', quarantineText(what, reason), { callerId, reason: 'quarantined' });
};
