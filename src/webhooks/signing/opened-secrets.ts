/**
 * Secrets of endpoints, opened once and made into keys for many deliveries. They are cached by their sealed form: a
 * rotation seals another secret, so an old entry is never used for it.
 */
import type { SecretBox } from '#src/platform/secret-box.ts';
import { type SecretKeys, secretKeys } from './sign.ts';

/** Binds a sealed secret to its endpoint. */
export const endpointSecretLabel = (uid: string): string => `webhook-endpoint/${uid}`;

type OpenedSecrets = (endpointUid: string, sealed: Buffer) => SecretKeys;

/** chosen: endpoints whose keys are cached before the cache starts over. */
const cachedMax = 4_096;

type Cached = { sealed: Buffer; keys: SecretKeys };

export const createOpenedSecrets = (box: Pick<SecretBox, 'open'>): OpenedSecrets => {
  const cache = new Map<string, Cached[]>();
  return (endpointUid, sealed) => {
    const ofEndpoint = cache.get(endpointUid);
    const known = ofEndpoint?.find((one) => one.sealed.equals(sealed));
    if (known !== undefined) return known.keys;
    const keys = secretKeys(box.open(sealed, endpointSecretLabel(endpointUid)));
    if (cache.size >= cachedMax) cache.clear();
    // The current secret and the previous one.
    cache.set(endpointUid, [{ sealed, keys }, ...(ofEndpoint ?? [])].slice(0, 2));
    return keys;
  };
};

type Sealed = { endpointUid: string; secret: Buffer; previousSecret: Buffer | null };

/** The secret of an endpoint and the previous one as their owner knows them. */
export const secretTexts = (
  box: Pick<SecretBox, 'open'>,
  { endpointUid, secret, previousSecret }: Sealed,
): readonly string[] =>
  [secret, previousSecret].flatMap((sealed) =>
    sealed === null ? [] : [box.open(sealed, endpointSecretLabel(endpointUid))],
  );
