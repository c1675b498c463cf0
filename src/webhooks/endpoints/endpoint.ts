import type { StoredAuth } from '../auth/endpoint-auth.ts';
import type { SignatureScheme } from '../signing/message-signature.ts';

/** An endpoint: a receiver's address with its settings. */
export type Endpoint = {
  tenant: string;
  uid: string;
  ownerKind: 'api_client' | 'panel';
  ownerId: string;
  url: string;
  description: string | null;
  /** Kinds of events that it receives. */
  kinds: readonly string[];
  /** Kinds that are not sent, because the owner may not read them now; also such that are not in `kinds`. */
  withheldKinds: readonly string[];
  enabled: boolean;
  /** Why it is disabled; `owner`: its owner or an administrator switched it off. */
  disabledReason: 'owner' | 'gone' | 'failing' | null;
  /** Name of the plain hex header; null for the operator's name. */
  signatureHeader: string | null;
  /** How deliveries are signed beside Standard Webhooks (interface 31). */
  signature: SignatureScheme | null;
  /** `webhook-signature` holds `v1a` beside `v1`. */
  v1a: boolean;
  maxPerSecond: number | null;
  digest: boolean;
  /** Sealed. */
  secret: Buffer;
  /** The secret before the last rotation, while its overlap lasts. */
  previousSecret: Buffer | null;
  previousSecretExpires: Date | null;
  /** Deliveries that were made until then are being cancelled. */
  cancelThrough: Date | null;
  created: Date;
} & StoredAuth;

/** The kinds that are sent. */
export const sentKindsOf = ({ kinds, withheldKinds }: Pick<Endpoint, 'kinds' | 'withheldKinds'>): readonly string[] =>
  kinds.filter((kind) => !withheldKinds.includes(kind));

/** The health of an endpoint by its attempts. */
export type EndpointHealth = {
  failingSince: Date | null;
  warned: Date | null;
  lastSuccess: Date | null;
  lastFailure: Date | null;
  /** When the first pending delivery is due; may be in the past. */
  nextAttempt: Date | null;
  /** The breaker holds the endpoint until then. */
  heldUntil: Date | null;
};

/** The viewer of endpoints: a client sees those that it made; without a client all of the tenant are visible. */
export type Viewer = { tenant: string; client: string | undefined };
