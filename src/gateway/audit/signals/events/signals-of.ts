/** The security events that an event of the audit means for receivers. */
import { unixSeconds } from '#src/platform/clock.ts';
import { type AuditAction, auditActions, leakReporters, type NewAuditEvent } from '../../event/event.ts';
import { credentialChange, sessionRevoked, tokenClaimsChange } from './event-types.ts';

/** `session`: the token that ended, when it is one token alone. `tenants`: the claim is read from the store. */
export type Signal = {
  type: string;
  payload: Readonly<Record<string, unknown>>;
  session?: string;
  tenants?: true;
};

type Change = 'create' | 'revoke' | 'update' | 'delete';

/** Values of CAEP 1.0 section 3.3.1: secrets and API keys are shared secrets; public keys, own or of a trusted issuer, those of an application. */
const credentialTypes: Readonly<Partial<Record<AuditAction, 'password' | 'app' | 'x509'>>> = {
  'client_key.added': 'app',
  'client_key.revoked': 'app',
  'client_trust.added': 'app',
  'client_trust.removed': 'app',
  'client_certificate.added': 'x509',
  'client_certificate.removed': 'x509',
};

type Details = {
  state?: string;
  ended?: boolean;
  all?: boolean;
  may_use_tokens?: boolean;
  certificate_name?: string | null;
};

export const signalsOf = (event: NewAuditEvent, at: Date): Signal[] => {
  const common = {
    event_timestamp: unixSeconds(at),
    initiating_entity: initiatorOf(event),
    reason_admin: { en: event.reason ?? auditActions[event.action] },
  };
  const session = (): Signal => ({ type: sessionRevoked, payload: common });
  const credential = (change_type: Change, credential_type = credentialTypes[event.action] ?? 'password'): Signal => ({
    type: credentialChange,
    payload: {
      ...common,
      credential_type,
      change_type,
      ...(event.credential_id == null ? undefined : { friendly_name: event.credential_id }),
    },
  });
  const details = JSON.parse(event.details ?? '{}') as Details;
  switch (event.action) {
    case 'secret.created':
    case 'key.created':
    case 'client_key.added':
    case 'client_trust.added':
    case 'client_certificate.added':
      return [credential('create')];
    case 'secret.retired':
    case 'key.rotated':
      return [credential(details.state === 'expiring' && details.ended !== true ? 'update' : 'revoke')];
    case 'key.revoked':
    case 'client_key.revoked':
    case 'client_trust.removed':
    case 'client_certificate.removed':
      return [credential('revoke')];
    case 'secret.state_changed':
    case 'key.state_changed':
      return [credential(details.state === 'quarantined' ? 'revoke' : 'update')];
    case 'client.state_changed':
      return [details.state === 'quarantined' ? session() : credential('update')];
    case 'client.disabled':
      return [session(), credential('delete')];
    case 'client.tokens_revoked':
      return [session()];
    case 'token.revoked':
      return [{ ...session(), ...(event.token_id == null ? undefined : { session: event.token_id }) }];
    case 'client.rights_changed':
      // Certificates of that name log the client in, so the name is a credential of it.
      if (details.certificate_name !== undefined)
        return [credential(details.certificate_name === null ? 'revoke' : 'update', 'x509')];
      return details.may_use_tokens === false ? [session()] : [];
    case 'client.scopes_changed': {
      const scope = details.all === true ? '*' : (event.scopes ?? []).join(' ');
      return [{ type: tokenClaimsChange, payload: { ...common, claims: { scope } } }];
    }
    case 'client.granted':
    case 'client.withdrawn':
      return [{ type: tokenClaimsChange, payload: common, tenants: true }];
    default:
      return [];
  }
};

const reporters: ReadonlySet<string> = new Set(Object.values(leakReporters));

/** CAEP 1.0 section 2: a client that revokes its own token is the user of it. Who reports a leak is no administrator. */
const initiatorOf = ({ actor, client_id }: NewAuditEvent): 'admin' | 'user' | 'system' => {
  if (actor == null || actor === 'system' || reporters.has(actor)) return 'system';
  return actor === client_id ? 'user' : 'admin';
};
