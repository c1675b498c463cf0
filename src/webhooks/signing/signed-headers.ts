/**
 * The headers of a delivery (interface 12.3). During the overlap of a rotation both secrets sign: `webhook-signature`
 * holds both signatures, the plain hex header keeps the old secret, and its `-Next` twin has the new one.
 */
import { sandboxHeader } from '#src/contract/headers.ts';
import { isSandboxId } from '#src/contract/sandbox.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import { createOpenedSecrets } from './opened-secrets.ts';
import { hexOf, signedBytes, v1aOf, v1Of } from './sign.ts';
import type { SigningKeys } from './signing-keys.ts';

type SignedDelivery = {
  uid: string;
  endpointUid: string;
  tenant: string;
  eventId: string;
  body: string;
  /** Attempts made before this one. */
  attemptsCount: number;
  /** Sealed, like the previous secret. */
  secret: Buffer;
  previousSecret: Buffer | null;
  previousSecretExpires: Date | null;
  signatureHeader: string | null;
};

export type SignedHeaders = (delivery: SignedDelivery, timestampSeconds: number) => Promise<Record<string, string>>;

type SignedHeadersDeps = { box: SecretBox; clock: Clock; keys: SigningKeys; signatureHeader: string };

/** Names that are taken; the plain hex header may have none of them. */
export const deliveryHeaderNames = [
  'content-type',
  'user-agent',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'x-orderpass-delivery',
  'x-orderpass-attempt',
  sandboxHeader,
] as const;

/** `signatureHeader`: the operator's name of the hex header, for endpoints without a name of their own. */
export const createSignedHeaders = ({ box, clock, keys, signatureHeader }: SignedHeadersDeps): SignedHeaders => {
  const opened = createOpenedSecrets(box);
  return async (delivery, timestampSeconds) => {
    const { endpointUid, previousSecret, previousSecretExpires: expires } = delivery;
    const secret = opened(endpointUid, delivery.secret);
    const overlaps = previousSecret !== null && expires !== null && expires > clock.now();
    const previous = overlaps ? opened(endpointUid, previousSecret) : undefined;
    const key = keys.privateKey();
    const v1aKey = key instanceof Promise ? await key : key;
    const signed = signedBytes({ id: delivery.eventId, timestampSeconds, body: delivery.body });
    const v1 = v1Of(secret.v1, signed);
    const v1OfBoth = previous === undefined ? v1 : `${v1} ${v1Of(previous.v1, signed)}`;
    const hexHeader = delivery.signatureHeader ?? signatureHeader;
    return headersWith({
      eventId: delivery.eventId,
      timestampSeconds,
      signature: `${v1OfBoth} ${v1aOf(v1aKey, signed)}`,
      hex: {
        [hexHeader]: hexOf((previous ?? secret).hex, delivery.body),
        ...(previous === undefined ? undefined : { [`${hexHeader}-Next`]: hexOf(secret.hex, delivery.body) }),
      },
      uid: delivery.uid,
      attempt: delivery.attemptsCount + 1,
      tenant: delivery.tenant,
    });
  };
};

type HeaderParts = {
  eventId: string;
  timestampSeconds: number;
  /** The signatures of `webhook-signature`. */
  signature: string;
  /** The plain hex header by name, and during a rotation its `-Next` twin. */
  hex: Readonly<Record<string, string>>;
  uid: string;
  attempt: number;
  tenant: string;
};

export const headersWith = (parts: HeaderParts): Record<string, string> => ({
  'content-type': 'application/json',
  'user-agent': 'Orderpass/1.0.0',
  'webhook-id': parts.eventId,
  'webhook-timestamp': String(parts.timestampSeconds),
  'webhook-signature': parts.signature,
  ...parts.hex,
  'x-orderpass-delivery': parts.uid,
  'x-orderpass-attempt': String(parts.attempt),
  ...(isSandboxId(parts.tenant) && { [sandboxHeader]: 'true' }),
});
