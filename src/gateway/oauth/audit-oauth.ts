/** Records in the audit what the OAuth endpoints do, before they answer. */
import type { IncomingMessage } from 'node:http';
import type { Context } from 'koa';
import { createRecentMap } from '#src/platform/recent-map.ts';
import type { Fingerprint } from '../audit/event/fingerprint.ts';
import type { Recorder } from '../audit/record/recorder.ts';
import type { AddressOf } from '../limits/source-address.ts';
import type { Allowed, AllowedUse } from '../model/allowed-use.ts';
import { isClientId } from '../model/credential-values.ts';
import type { IdentifiedClient, ProvenClient } from './authenticate-client.ts';
import { claimedClientId } from './limit-failures.ts';
import type { OAuthRefusal } from './oauth-answers.ts';
import type { ClientProof } from './read-client-proof.ts';
import type { Form } from './read-token-request.ts';
import { tokenPath } from './token-issuer.ts';

export type AuditOAuth = {
  /** Rejects with OVERLOADED: a token that the audit does not have is not issued. */
  issued(ctx: Context, proven: ProvenClient, token: { access_token: string; scope: string }): Promise<void>;
  /** What an event notes of the request and of the client that it proves. */
  about(ctx: Context, proven: ProvenClient): AboutRequest;
  /**
   * Records a use of the revocation endpoint without effect, as an allowed request, for uses of a leaked secret are searched. Throws
   * OVERLOADED.
   */
  revokedNothing(ctx: Context, proven: ProvenClient): void;
  /** Rejects with OVERLOADED. */
  introspected(ctx: Context, proven: ProvenClient, tokenId: string | null): Promise<void>;
  refused(ctx: Context, form: Form | undefined, refusal: OAuthRefusal): Promise<void>;
};

type AboutRequest = Omit<Allowed, 'token_id' | 'scopes'> & { request_ids: readonly string[] };

const describedMax = 1_000;
type Described = { client: ProvenClient['client']; use: AllowedUse };

type AuditOAuthDeps = {
  origin: string;
  recorder: Pick<Recorder, 'record' | 'recordRefusal' | 'assertRoom' | 'describe' | 'allow'>;
  fingerprint: Fingerprint;
  addressOf: AddressOf;
  /** 'issued', or the error. */
  countToken: (outcome: string) => void;
};

export const createAuditOAuth = ({
  origin,
  recorder,
  fingerprint,
  addressOf,
  countToken,
}: AuditOAuthDeps): AuditOAuth => {
  const about = (ctx: Context, { client, credentialId, secret }: ProvenClient): AboutRequest => ({
    ...requestOf(ctx, addressOf),
    kind: 'api_client',
    client_id: client.clientId,
    credential_id: credentialId,
    fingerprint: secret === undefined ? null : fingerprint(secret),
    tenants: client.tenants,
  });
  // Requests of one description become one event with their number.
  const described = createRecentMap<string, Described>(describedMax);
  const describe = (ctx: Context, proven: ProvenClient): Described['use'] => {
    const { request_ids: _, ...more } = about(ctx, proven);
    const key = `${more.credential_id} ${more.fingerprint} ${more.address}`;
    const known = described.get(key);
    if (known?.client === proven.client) return known.use;
    const use = recorder.describe({ ...more, token_id: null, scopes: [] });
    described.set(key, { client: proven.client, use });
    return use;
  };
  return {
    about,
    revokedNothing: (ctx, proven) => {
      recorder.assertRoom();
      recorder.allow(describe(ctx, proven), String(ctx.state.requestId));
    },
    issued: async (ctx, proven, { access_token, scope }) => {
      const { jti, exp, aud, authorization_details, ancestors, ancestors_iat, cnf } = claimsOf(access_token);
      await recorder.record({
        action: 'token.issued',
        ...about(ctx, proven),
        token_id: jti,
        scopes: scope === '' ? [] : scope.split(' '),
        details: JSON.stringify({
          token_fingerprint: fingerprint(access_token),
          expires: new Date(exp * 1000).toISOString(),
          workload: proven.workload,
          ...(ancestors && { parent: ancestors[0], ancestors, ancestors_iat }),
          certificate: cnf?.['x5t#S256'],
          ...(authorization_details !== undefined && { authorization_details }),
          ...(aud !== origin && [aud].flat()[0] !== origin && { resource: aud }),
        }),
      });
      countToken('issued');
    },
    introspected: (ctx, proven, tokenId) =>
      recorder.record({ action: 'token.introspected', ...about(ctx, proven), token_id: tokenId }),
    refused: (ctx, form, refusal) => {
      if (ctx.path === tokenPath) countToken(refusal.error);
      return recorder.recordRefusal({
        action: 'token.refused',
        outcome: 'failure',
        ...requestOf(ctx, addressOf),
        reason: refusal.code === 'ADDRESS_NOT_ALLOWED' ? 'address_not_allowed' : refusal.error,
        ...strangerOf(ctx, form, fingerprint),
        ...(refusal.facts && { details: JSON.stringify(refusal.facts) }),
      });
    },
  };
};

/**
 * A refused client. The value that it sent is named by its fingerprint, so that tries of a leaked secret are found by the secret, also
 * after its end.
 */
const strangerOf = (ctx: Context, form: Form | undefined, fingerprint: Fingerprint) => {
  const { proof, clientId, identified } = ctx.state as StateOfRefusal;
  return {
    kind: proof === undefined ? null : 'api_client',
    client_id: clientId ?? claimedOf(ctx.req, form),
    credential_id: identified?.credentialId ?? null,
    fingerprint: proof?.method === 'secret' ? fingerprint(proof.secret) : null,
    tenants: identified?.tenants ?? [],
  };
};

/** What oauth.ts knew of the client when it refused the request. */
type StateOfRefusal = { proof?: ClientProof; clientId?: string; identified?: IdentifiedClient };

/** Claims of a token that was just made, so nothing is checked. */
const claimsOf = (token: string): IssuedClaims =>
  JSON.parse(Buffer.from(token.split('.', 2)[1] ?? '', 'base64url').toString('latin1')) as IssuedClaims;

type IssuedClaims = {
  jti: string;
  exp: number;
  aud: string | string[];
  authorization_details?: unknown;
  ancestors?: readonly string[];
  ancestors_iat?: number;
  cnf?: { 'x5t#S256'?: string };
};

/** An unproven claim is kept only when it is a client id, since it may also be a secret in the wrong field. */
const claimedOf = (req: IncomingMessage, form: Form | undefined): string | null => {
  const claimed = form === undefined ? '' : claimedClientId(req, form);
  return isClientId(claimed) ? claimed : null;
};

const requestOf = (ctx: Context, addressOf: AddressOf) => ({
  request_ids: [String(ctx.state.requestId)],
  route_id: ctx.path,
  address: addressOf(ctx.req) ?? null,
});
