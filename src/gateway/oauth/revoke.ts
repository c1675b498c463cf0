/** RFC 7009: a client revokes its own tokens. A token of another client is refused and stays valid. */
import { Fault } from '#src/contract/fault.ts';
import type { Authenticator } from '../access/authenticate.ts';
import type { BearerTokens, VerifiedToken } from '../access/bearer-tokens.ts';
import type { NewAuditEvent } from '../audit/event/event.ts';
import type { RevokeToken } from '../credentials/change/revoke-token.ts';
import type { CredentialCache } from '../credentials/lookup/cache.ts';
import type { ClientRecord } from '../credentials/lookup/records.ts';
import type { InChangeTurn } from '../limits/change-turns.ts';
import { invalidRequest } from './oauth-answers.ts';

export type RevokeDeps = {
  tokens: BearerTokens;
  inspectToken: Authenticator['inspectToken'];
  credentials: Pick<CredentialCache, 'refresh'>;
  revokeToken: RevokeToken;
  inChangeTurn: InChangeTurn;
};

/**
 * Resolves when this process refuses the token; the others follow within a second. False: there was nothing to revoke. `about`: the
 * request, for the audit. Rejects with OAuthRefusal, or with OVERLOADED.
 */
export const createRevoke =
  (deps: RevokeDeps) =>
  async (client: ClientRecord, text: string, about: Partial<NewAuditEvent>): Promise<boolean> => {
    const token = await readToken(deps, text);
    // Nothing to revoke, which is a success (RFC 7009 section 2.2).
    if (token === undefined) return false;
    if (token.clientId !== client.clientId) {
      if (await isLive(deps, text)) throw invalidRequest('The token was issued to another client');
      return false;
    }
    const by = { reason: 'revoked by its client', actor: client.clientId };
    const revoked = await deps.inChangeTurn(client.clientId, () => deps.revokeToken(token, by, about));
    // The revocation is committed. If this refresh fails, this process reads it later, as the others do.
    await deps.credentials.refresh().catch(() => undefined);
    return revoked;
  };

const readToken = async ({ tokens }: RevokeDeps, text: string): Promise<VerifiedToken | undefined> => {
  try {
    return await tokens.verify(text);
  } catch (error) {
    if (isRefused(error)) return undefined;
    throw error;
  }
};

const isRefused = (error: unknown): boolean => error instanceof Fault && error.code === 'INVALID_AUTH';

/** A token of a quarantined client counts as live, since the client may be released from quarantine. */
const isLive = async ({ inspectToken }: RevokeDeps, text: string): Promise<boolean> => {
  try {
    await inspectToken(text);
    return true;
  } catch (error) {
    if (error instanceof Fault && error.status < 500) return error.code !== 'INVALID_AUTH';
    throw error;
  }
};
