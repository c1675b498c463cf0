/** RFC 7009: a client ends its own tokens. It never ends another's, and is never told that it did. */
import { Fault } from '#src/contract/fault.ts';
import type { Authenticator } from '../access/authenticate.ts';
import type { BearerTokens, VerifiedToken } from '../access/bearer-tokens.ts';
import type { RevokeToken } from '../credentials/change/revoke-token.ts';
import type { CredentialCache } from '../credentials/lookup/cache.ts';
import type { ClientRecord } from '../credentials/lookup/records.ts';
import { invalidRequest } from './oauth-answers.ts';

export type RevokeDeps = {
  tokens: BearerTokens;
  inspectToken: Authenticator['inspectToken'];
  credentials: Pick<CredentialCache, 'refresh'>;
  revokeToken: RevokeToken;
};

/** Resolves when the token is refused by this process; the others hear of it. Rejects with OAuthRefusal. */
export const createRevoke =
  (deps: RevokeDeps) =>
  async (client: ClientRecord, text: string): Promise<void> => {
    const token = await readToken(deps, text);
    // Nothing to end: RFC 7009 section 2.2 calls that a success.
    if (token === undefined) return;
    if (token.clientId !== client.clientId) {
      if (await isLive(deps, text)) throw invalidRequest('The token was issued to another client');
      return;
    }
    await deps.revokeToken(token, { reason: 'revoked by its client', actor: client.clientId });
    // Committed; if this fails, this process hears of it as the others do.
    await deps.credentials.refresh().catch(() => undefined);
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

/** One of a quarantined client is refused now and may be good again, so it counts as live. */
const isLive = async ({ inspectToken }: RevokeDeps, text: string): Promise<boolean> => {
  try {
    await inspectToken(text);
    return true;
  } catch (error) {
    if (error instanceof Fault && error.status < 500) return error.code !== 'INVALID_AUTH';
    throw error;
  }
};
