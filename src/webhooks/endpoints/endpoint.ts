/** An endpoint as the engine knows it. */
export type Endpoint = {
  tenant: string;
  uid: string;
  ownerKind: 'api_client' | 'panel';
  ownerId: string;
  url: string;
  description: string | null;
  /** Kinds of events that it receives. */
  kinds: readonly string[];
  enabled: boolean;
  /** Why it is not enabled; `owner`: somebody switched it off. */
  disabledReason: 'owner' | 'gone' | 'failing' | null;
  /** Name of the plain hex header where it is not the operator's. */
  signatureHeader: string | null;
  maxPerSecond: number | null;
  digest: boolean;
  /** Sealed. */
  secret: Buffer;
  /** Of the last rotation, while its overlap lasts. */
  previousSecret: Buffer | null;
  previousSecretExpires: Date | null;
  /** Its deliveries up to then are being cancelled. */
  cancelThrough: Date | null;
  created: Date;
};

/** What attempts say of it. */
export type EndpointHealth = {
  failingSince: Date | null;
  warned: Date | null;
  lastSuccess: Date | null;
  lastFailure: Date | null;
  /** Time of the first delivery that is to be sent to it, perhaps over. */
  nextAttempt: Date | null;
  /** The breaker holds it until then. */
  heldUntil: Date | null;
};

/** Who looks: a client sees what it made, everybody else all of the tenant. */
export type Viewer = { tenant: string; client: string | undefined };
