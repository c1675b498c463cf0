/**
 * The headers of a delivery (interface 12.3). During the overlap of a rotation both secrets sign: `webhook-signature`
 * holds both signatures, the plain hex header keeps the old secret, and its `-Next` twin has the new one. An endpoint may
 * ask for a message signature beside them (interface 31), and for no `v1a`.
 */
import type { Kysely } from 'kysely';
import { sandboxHeader } from '#src/contract/headers.ts';
import { isSandboxId } from '#src/contract/sandbox.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { SecretBox } from '#src/platform/secret-box.ts';
import {
  createDescribeMessage,
  deliveryType,
  isSignatureField,
  type SignatureScheme,
  type SignText,
  signatureField,
} from './message-signature.ts';
import { createOpenedSecrets } from './opened-secrets.ts';
import { signedText, v1aField, v1Field } from './sign.ts';
import { createSigningKeys, type SigningKeys } from './signing-keys.ts';

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
  /** Where it is sent. */
  url: string;
  signature: SignatureScheme | null;
  /** Without it `webhook-signature` holds `v1` alone. */
  v1a: boolean;
};

/** `sign`: in place of the usual way to sign. */
export type SignedHeaders = (
  delivery: SignedDelivery,
  timestampSeconds: number,
  sign?: SignText,
) => Promise<Record<string, string>>;

type SignedHeadersDeps = {
  db: Kysely<unknown>;
  box: SecretBox;
  clock: Clock;
  signatureHeader: string;
  sign: SignText;
};

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
export const createSignedHeaders = (deps: SignedHeadersDeps): SignedHeaders => {
  const { box, clock, signatureHeader } = deps;
  const opened = createOpenedSecrets(box);
  const keys = createSigningKeys(deps);
  const messageKeys: Readonly<Record<SignatureScheme, SigningKeys>> = {
    'rfc9421:ed25519': createSigningKeys(deps, 'rfc9421:ed25519'),
    'rfc9421:ecdsa-p256': createSigningKeys(deps, 'rfc9421:ecdsa-p256'),
  };
  const describeMessage = createDescribeMessage();
  /** What the message signature is over, and its key. */
  const describe = async (
    scheme: SignatureScheme,
    { url, eventId, body }: SignedDelivery,
    timestampSeconds: number,
  ) => {
    const current = messageKeys[scheme].current();
    const { kid, key } = current instanceof Promise ? await current : current;
    return { key, ...describeMessage({ scheme, kid, url, eventId, timestampSeconds, body }) };
  };
  return async (delivery, timestampSeconds, sign = deps.sign) => {
    const { endpointUid, eventId, body, previousSecret, previousSecretExpires: expires, signature: scheme } = delivery;
    const secret = opened(endpointUid, delivery.secret);
    const overlaps = previousSecret !== null && expires !== null && expires > clock.now();
    const previous = overlaps ? opened(endpointUid, previousSecret) : undefined;
    const v1aKey = delivery.v1a ? keys.current() : undefined;
    const key = (v1aKey instanceof Promise ? await v1aKey : v1aKey)?.key;
    const message = scheme === null ? undefined : await describe(scheme, delivery, timestampSeconds);
    const signed = signedText({ id: eventId, timestampSeconds, body });
    // Both are begun before either is awaited, so that a thread makes them together.
    const signatures = Promise.all([key && sign(key, signed), message && sign(message.key, message.base)]);
    const v1 = v1Field(secret.v1(signed, 'base64'));
    const v1OfBoth = previous === undefined ? v1 : `${v1} ${v1Field(previous.v1(signed, 'base64'))}`;
    const hexHeader = delivery.signatureHeader ?? signatureHeader;
    // The operator may have chosen the name of a field of RFC 9421 after the endpoint asked for these.
    const hasHex = scheme === null || !isSignatureField(hexHeader);
    const hex = {
      ...(hasHex && { [hexHeader]: (previous ?? secret).hex(body, 'hex') }),
      ...(previous === undefined ? undefined : { [`${hexHeader}-Next`]: secret.hex(body, 'hex') }),
    };
    const [v1a, messageSignature] = await signatures;
    const headers = headersWith({
      ...{ eventId, timestampSeconds, hex },
      signature: v1a === undefined ? v1OfBoth : `${v1OfBoth} ${v1aField(v1a)}`,
      uid: delivery.uid,
      attempt: delivery.attemptsCount + 1,
      tenant: delivery.tenant,
    });
    if (message === undefined || messageSignature === undefined) return headers;
    return { ...headers, ...message.fields, signature: signatureField(messageSignature) };
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
  'content-type': deliveryType,
  'user-agent': 'Orderpass/1.0.0',
  'webhook-id': parts.eventId,
  'webhook-timestamp': String(parts.timestampSeconds),
  'webhook-signature': parts.signature,
  ...parts.hex,
  'x-orderpass-delivery': parts.uid,
  'x-orderpass-attempt': String(parts.attempt),
  ...(isSandboxId(parts.tenant) && { [sandboxHeader]: 'true' }),
});
