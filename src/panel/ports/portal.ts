/**
 * The port of the pages of contacts about their API client; `src/app/panel/portal-ports.ts` implements it with the
 * features. The pages check that the client is one of the contact.
 */
import type { Delivery, DeliveryAttempt, Listed, WebhookEndpoint } from './restaurant.ts';
import type { ShownClient } from './support.ts';

/** A refusal as the gateway keeps it for a week (interface 11.5). */
export type ExplainedRefusal = {
  request_id: string;
  at_iso: string;
  method: string;
  path: string;
  status: number;
  code: string;
  reason: string;
  missing_scopes: readonly string[];
  detail: Readonly<Record<string, unknown>>;
  errors: readonly { pointer: string; code: string; message: string }[];
};

/** Routes of the API for which pages of contacts stand. */
export const ownRoutes = [
  'webhook.endpoints',
  'webhook.endpoint',
  'webhook.deliveries',
  'webhook.delivery',
  'whoami.requests',
  'whoami.usage',
  'whoami.denial',
] as const;
export type OwnRoute = (typeof ownRoutes)[number];

export type OwnClient = ShownClient & {
  /** It is active and one of its credentials is too, so the contact may add others and take some away. */
  mayChange: boolean;
  /** One of its secrets is active, so it may get the next one. */
  mayRotate: boolean;
  /** Its public keys would be of use: it may have tokens. */
  mayHaveKeys: boolean;
  /** The installation reads certificates of clients. */
  mayHaveCertificates: boolean;
  /** Routes that it may call; those of webhooks only while it is active. */
  mayRead: ReadonlySet<OwnRoute>;
};

/** A restaurant of the client. */
type ReachedRestaurant = { restuid: string; name: string; apiEnabled: boolean };

/** An endpoint that the client made, with the restaurant that it is for. */
export type OwnEndpoint = WebhookEndpoint & { tenant: string };

/**
 * Throws Faults: NOT_FOUND for unknown ids, VALIDATION_ERROR for what is no certificate or key, CONFLICT when the state of
 * the client does not allow the change, or it has the credential already.
 */
export type PortalPorts = {
  /** Names of those clients that exist, sorted by name. */
  namesOf(clientIds: readonly string[]): Promise<readonly { clientId: string; name: string }[]>;
  show(clientId: string): Promise<OwnClient>;
  restaurants(clientId: string, after: string | undefined): Promise<Listed<ReachedRestaurant>>;

  /** The earlier secrets stay valid for `overlapHours`, 0 to 720. */
  rotateSecret(actor: string, clientId: string, overlapHours: number): Promise<{ secret: string }>;
  /** Without `force`: CONFLICT unless no program needs the secret any more. */
  retireSecret(actor: string, clientId: string, secretId: string, force: boolean): Promise<void>;
  /** `pem`: one certificate. Returns its thumbprint. */
  addCertificate(actor: string, clientId: string, pem: string): Promise<string>;
  removeCertificate(actor: string, clientId: string, thumbprint: string): Promise<void>;
  /** `jwk`: the text of a public JSON Web Key. Returns its id. */
  addKey(actor: string, clientId: string, jwk: string): Promise<string>;
  removeKey(actor: string, clientId: string, keyId: string): Promise<void>;

  /** Undefined: no refusal of this client with that id is kept. */
  refusal(clientId: string, requestId: string): Promise<ExplainedRefusal | undefined>;

  /** Newest first; a page may be short before the last one. Endpoints for restaurants that are withdrawn are left out. */
  endpoints(clientId: string, after: string | undefined): Promise<Listed<OwnEndpoint>>;
  endpoint(clientId: string, uid: string): Promise<OwnEndpoint | undefined>;
  /** Changes when a delivery or the health of one of the newest endpoints changes. */
  deliveryMark(clientId: string): Promise<string>;
  /** Newest first; none when the client may not read them. */
  deliveries(clientId: string, endpoint: OwnEndpoint, after: string | undefined): Promise<Listed<Delivery>>;
  delivery(
    clientId: string,
    endpoint: OwnEndpoint,
    uid: string,
  ): Promise<(Delivery & { attempts: readonly DeliveryAttempt[] }) | undefined>;
};
