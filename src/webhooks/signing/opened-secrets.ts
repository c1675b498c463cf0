/**
 * Endpoints' secrets, opened and made into keys once for many deliveries. Kept by their sealed form: whoever rotates a
 * secret seals another one, and what is kept of the old one answers nobody any more.
 */
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type SecretKeys, secretKeys } from './sign.ts';

/** Binds a sealed secret to its endpoint. */
export const endpointSecretLabel = (uid: string): string => `webhook-endpoint/${uid}`;

export type OpenedSecrets = (endpointUid: string, sealed: Buffer) => SecretKeys;

const keptMax = 4_096;

type Kept = { sealed: Buffer; keys: SecretKeys };

export const createOpenedSecrets = (box: Pick<SecretBox, 'open'>): OpenedSecrets => {
  const kept = new Map<string, Kept[]>();
  return (endpointUid, sealed) => {
    const ofEndpoint = kept.get(endpointUid);
    const known = ofEndpoint?.find((one) => one.sealed.equals(sealed));
    if (known !== undefined) return known.keys;
    const keys = secretKeys(box.open(sealed, endpointSecretLabel(endpointUid)));
    if (kept.size >= keptMax) kept.clear();
    // The current one and the previous one.
    kept.set(endpointUid, [{ sealed, keys }, ...(ofEndpoint ?? [])].slice(0, 2));
    return keys;
  };
};
