/**
 * The catalogue of audit events and the type of a stored event, with the names of its columns. found-event.ts has the
 * form in which readers get it.
 */
export const auditActions = {
  'token.issued': 'an access token was issued',
  'token.refused': 'the token endpoint, revocation or introspection refused',
  'token.revoked': 'an access token was revoked',
  'token.introspected': 'a client asked about a token',
  'request.allowed':
    'a request passed authentication, scopes and limits; a failure when the service behind answered 400 to 499',
  'request.denied': 'a request was refused by the gateway, or by the service behind it with 401, 403 or 429',
  'request.simulated': 'a request of a sandbox was answered with the fault that it asked for',
  'tenant.created': 'a tenant was created',
  'tenant.changed': 'API access or settings of a tenant were changed',
  'tenant.removed': 'a tenant was removed',
  'key.created': 'an API key was created',
  'key.revoked': 'an API key was revoked',
  'key.rotated': 'an API key got a successor',
  'key.state_changed': 'an API key was quarantined or made active again',
  'key.limits_changed': 'the limits of an API key were set',
  'key.addresses_changed': 'the networks that an API key may be used from were set',
  'client.created': 'an API client was created',
  'client.disabled': 'an API client was disabled for good',
  'client.state_changed': 'an API client was quarantined or made active again',
  'client.scopes_changed': 'the scopes of a client were set',
  'client.rights_changed': 'the rights of a client at the OAuth endpoints were set',
  'client.limits_changed': 'the limits of a client were set',
  'client.addresses_changed': 'the networks that a client may be used from were set',
  'client.granted': 'a tenant was granted to a client',
  'client.withdrawn': 'a grant was withdrawn',
  'client.tokens_revoked': 'all tokens of a client issued before a time were revoked',
  'secret.created': 'a client secret was created',
  'secret.retired': 'a client secret was ended',
  'secret.state_changed': 'a client secret was quarantined or made active again',
  'client_key.added': 'a public key for private_key_jwt was registered',
  'client_key.revoked': 'a public key of a client was revoked',
  'client_certificate.added': 'a certificate of a client was registered',
  'client_certificate.removed': 'a certificate of a client was removed',
  'client_trust.added': 'a client was set to trust a subject of an issuer',
  'client_trust.removed': 'the trust of a client in a subject of an issuer was removed',
  'leak.reported': 'the value of a credential was reported as leaked; `ended` tells whether that ended it',
  'signing_key.rotated': 'the key that signs access tokens got a successor',
  'master_key.added': 'the keys of the installation were sealed by one more master key',
  'master_key.removed': 'a master key was removed: it does not open the keys of the installation any more',
  'signals.changed': 'a stream of security events, or the right of a client to them, was changed; `done` says how',
  'webhook.changed': 'the operator changed webhook endpoints or kinds of events, or had events delivered again',
  'user.created': 'a staff account was created',
  'user.changed': 'a staff account was changed, disabled or enabled',
  'user.link_made': 'a one-time link to set a password was created',
  'user.password_set': 'a user set the password',
  'user.totp_added': 'a user added one-time codes as second factor',
  'user.totp_removed': 'one-time codes of a user were removed',
  'user.passkey_added': 'a user added a passkey',
  'user.passkey_renamed': 'a user renamed a passkey',
  'user.passkey_removed': 'a passkey of a user was removed',
  'user.factor_policy_changed': 'the roles that need a second factor were set',
  'user.notices_changed': 'a user chose notices, and where they go',
  'user.notice_secret_rotated': 'a user rotated the secret that signs notices to an address',
  'user.signed_in': 'a user signed in to the panel',
  'user.sign_in_failed': 'a sign-in to the panel failed',
  'user.check_failed': 'a user gave a wrong password or code on the account page',
  'user.signed_out': 'a user signed out',
  'user.session_ended': 'sessions of a user were ended',
  'user.search_saved': 'a user kept a search of the audit under a name',
  'user.search_removed': 'a user removed a kept search of the audit',
  'config.reloaded': 'a gateway replaced its route table; `from` and `to` are its versions',
  'store.backed_up': 'a backup of the embedded store was begun',
  'store.restored': 'the embedded store was restored from a backup; what happened after `taken_at` is not in it',
  'store.moved': 'a copy of the embedded store to a database server was begun, or made void with `undone`',
  'audit.read': 'the audit was read',
  'audit.dropped': 'events beyond the retention were dropped',
  'audit.broken': 'verification found a chain of the audit changed; the chain is not continued',
  'audit.rolled_back': 'the audit in the database ends before a signed head that was known earlier',
  'audit.key_changed':
    'checkpoints of the audit are signed with another key from now on; `from` and `to` are verifier keys',
  'audit.chain_closed': 'the open chain of a process that had ended was verified and closed',
} as const;

/** Actors of changes that a report of a leaked value makes. */
export const leakReporters = { anyone: 'leak report', github: 'GitHub secret scanning' } as const;

/** `event.action` of a line of a sink that is no event but a checkpoint. */
export const checkpointAction = 'audit.checkpoint';

export type AuditAction = keyof typeof auditActions;

export type AuditEvent = {
  at: Date;
  action: AuditAction;
  outcome: 'success' | 'failure';
  /** The code of a refusal, or the reason that an operator gave. */
  reason: string | null;
  /** Number of requests that this event represents; `request_ids` lists those whose id is known. */
  count: number;
  request_ids: readonly string[];
  /** Fingerprint of the presented credential (fingerprint.ts). Equal values have equal fingerprints. */
  fingerprint: string | null;
  kind: string | null;
  /** Key id or secret id. */
  credential_id: string | null;
  /** `jti`. */
  token_id: string | null;
  client_id: string | null;
  tenants: readonly string[];
  route_id: string | null;
  /** Scopes that were granted, or that the route requires. */
  scopes: readonly string[];
  address: string | null;
  actor: string | null;
  /** JSON. It never holds a secret, a token or content of a request body. */
  details: string;
  /** For an event that represents several tokens: the tokens, and the number of requests of each (token-uses.ts). */
  uses: string | null;
  /** Index keys of these tokens. They are computed from `uses`, so the hash does not cover them. */
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

/** An event with its position in a chain. */
export type ChainedEvent = AuditEvent & { chain: number; seq: number; hash: string };
