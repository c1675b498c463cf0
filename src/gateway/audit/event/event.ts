/**
 * What the audit knows: the catalogue of events, and the names under which they leave the house. Names follow the Elastic
 * Common Schema where it has one; what it has no word for stands under `orderpass`. Names are stable: a new meaning gets a
 * new name.
 */
export const auditActions = {
  'token.issued': 'an access token was issued',
  'token.refused': 'the token endpoint refused',
  'token.revoked': 'an access token was revoked',
  'token.introspected': 'a client asked about a token',
  'request.allowed':
    'a request passed authentication, scopes and limits; a failure when the service behind answered 400 to 499',
  'request.denied': 'a request was refused by the gateway, or by the service behind it with 401, 403 or 429',
  'tenant.created': 'a tenant was made',
  'tenant.changed': 'API access or settings of a tenant were changed',
  'tenant.removed': 'a tenant is gone',
  'key.created': 'an API key was made',
  'key.revoked': 'an API key was revoked',
  'key.rotated': 'an API key got a successor',
  'key.state_changed': 'an API key was quarantined or made active again',
  'client.created': 'an API client was made',
  'client.disabled': 'an API client was disabled for good',
  'client.state_changed': 'an API client was quarantined or made active again',
  'client.scopes_changed': 'the scopes of a client were set',
  'client.rights_changed': 'what a client may do at the OAuth endpoints was set',
  'client.granted': 'a tenant was granted to a client',
  'client.withdrawn': 'a grant was withdrawn',
  'client.tokens_revoked': 'all tokens of a client issued before a time were revoked',
  'secret.created': 'a client secret was made',
  'secret.retired': 'a client secret was ended',
  'secret.state_changed': 'a client secret was quarantined or made active again',
  'client_key.added': 'a public key for private_key_jwt was registered',
  'client_key.revoked': 'a public key of a client was revoked',
  'signing_key.rotated': 'the key that signs access tokens got a successor',
  'webhook.changed': 'the operator changed webhook endpoints or kinds of events, or had events delivered again',
  'user.created': 'a staff account was made',
  'user.changed': 'a staff account was changed, disabled or enabled',
  'user.link_made': 'a one-time link to set a password was made',
  'user.password_set': 'a user set the password',
  'user.totp_added': 'a user added one-time codes as second factor',
  'user.totp_removed': 'one-time codes of a user were removed',
  'user.signed_in': 'a user signed in to the panel',
  'user.sign_in_failed': 'somebody could not sign in to the panel',
  'user.signed_out': 'a user signed out',
  'user.session_ended': 'sessions of a user were ended',
  'audit.read': 'the audit was read',
  'audit.dropped': 'events beyond the retention were dropped',
  'audit.broken': 'a chain of the audit was found changed, and is not continued',
  'audit.rolled_back': 'the audit in the database was found behind a signed head that was known before',
  'audit.chain_closed': 'the chain of a process that ended without closing it was verified and closed',
} as const;

export type AuditAction = keyof typeof auditActions;

export type AuditEvent = {
  at: Date;
  action: AuditAction;
  outcome: 'success' | 'failure';
  /** Why it was refused, or why somebody did it. */
  reason: string | null;
  /** Requests that this event stands for; `request_ids` names each that is known. */
  count: number;
  request_ids: readonly string[];
  /** Of the credential that was presented: the same for the same value, whatever kind it is. */
  fingerprint: string | null;
  kind: string | null;
  /** Key id or secret id. */
  credential_id: string | null;
  /** `jti`. */
  token_id: string | null;
  client_id: string | null;
  tenants: readonly string[];
  route_id: string | null;
  /** Granted, or required by the route. */
  scopes: readonly string[];
  address: string | null;
  actor: string | null;
  /** JSON. Never a secret, a token or what a body said. */
  details: string;
  /** Of an event that stands for several tokens: which, and how many of the requests are of each (token-uses.ts). */
  uses: string | null;
  /** What they are looked up by. Follows from `uses`, so no hash covers it. */
  use_keys: string | null;
};

export type NewAuditEvent = Partial<AuditEvent> & Pick<AuditEvent, 'action'>;

export const completeEvent = (event: NewAuditEvent, at: Date): AuditEvent => ({
  at,
  outcome: 'success',
  reason: null,
  count: 1,
  request_ids: [],
  fingerprint: null,
  kind: null,
  credential_id: null,
  token_id: null,
  client_id: null,
  tenants: [],
  route_id: null,
  scopes: [],
  address: null,
  actor: null,
  details: '{}',
  uses: null,
  use_keys: null,
  ...event,
});

/** An event with its place in a chain. */
export type ChainedEvent = AuditEvent & { chain: number; seq: number; hash: string };

/** As it is searched, exported and sent: Elastic Common Schema. `use`: see ShownEvent; `signed`: see markSigned. */
export const toEcs = (event: ChainedEvent & { use?: number; signed?: boolean }): Record<string, unknown> => ({
  '@timestamp': event.at.toISOString(),
  'event.id': event.use === undefined ? `${event.chain}-${event.seq}` : `${event.chain}-${event.seq}-${event.use}`,
  'event.hash': event.hash,
  'event.action': event.action,
  'event.outcome': event.outcome,
  'event.reason': event.reason,
  'http.request.id': event.request_ids,
  'source.ip': event.address,
  'user.name': event.actor,
  'orderpass.count': event.count,
  'orderpass.credential.fingerprint': event.fingerprint,
  'orderpass.credential.kind': event.kind,
  'orderpass.credential.id': event.credential_id,
  'orderpass.token.id': event.token_id,
  'orderpass.client.id': event.client_id,
  'orderpass.tenants': event.tenants,
  'orderpass.route.id': event.route_id,
  'orderpass.scopes': event.scopes,
  'orderpass.details': JSON.parse(event.details) as unknown,
  ...(event.signed === undefined ? undefined : { 'orderpass.signed': event.signed }),
});
