/** What a request presents: an API key, or an access token that is cached, renewed early and fetched once for parallel calls. */
import { ApiError, OrderpassError } from './errors.ts';

export type Credentials =
  /** Of an API client. `scopes`: a subset of its scopes; by default the token has all of them. */
  | { clientId: string; clientSecret: string; scopes?: readonly string[]; apiKey?: undefined }
  | { apiKey: string; clientId?: undefined };

export type Credential = {
  headers(): Promise<Record<string, string>>;
  /** After a 401 to these headers: true when the next call of `headers` gives others. */
  renew(refused: Record<string, string>): boolean;
};

export type TokenAnswer = { access_token: string; expires_in: number };

type Token = { header: string; renewAt: number; endsAt: number };

/** A token is renewed when a tenth of its life is left, at most this long before its end. */
const renewalMsMax = 60_000;

/** After a renewal that failed while the old token works. */
const renewalPauseMs = 5_000;

/**
 * A refused credential is not sent again for this long, since the service counts its refusals: too many of them lock the client at
 * this address, for other processes too.
 */
const refusedMs = 10_000;

const isRefusal = (error: unknown): boolean =>
  error instanceof ApiError && error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status);

/** `fetchToken` sends the form to the token endpoint. */
export const createCredential = (
  credentials: Credentials,
  fetchToken: (form: Record<string, string>) => Promise<TokenAnswer>,
): Credential => {
  if (credentials.apiKey !== undefined) {
    const headers = { 'x-api-key': credentials.apiKey };
    return { headers: async () => headers, renew: () => false };
  }
  const { clientId, clientSecret, scopes = [] } = credentials;
  let token: Token | undefined;
  let fetching: Promise<Token> | undefined;
  let refused: { error: unknown; endsAt: number } | undefined;

  const fetchOnce = (): Promise<Token> => {
    if (refused !== undefined && Date.now() < refused.endsAt) return Promise.reject(refused.error);
    fetching ??= fetchNew()
      .catch((error: unknown) => {
        if (isRefusal(error)) refused = { error, endsAt: Date.now() + refusedMs };
        throw error;
      })
      .finally(() => {
        fetching = undefined;
      });
    return fetching;
  };

  const fetchNew = async (): Promise<Token> => {
    const answer = await fetchToken({
      grant_type: 'client_credentials',
      client_id: clientId,
      client_secret: clientSecret,
      ...(scopes.length === 0 ? undefined : { scope: scopes.join(' ') }),
    });
    const lifeMs = Number(answer.expires_in) * 1000;
    if (typeof answer.access_token !== 'string' || !(lifeMs > 0))
      throw new OrderpassError('the token endpoint answered without access_token and expires_in');
    const endsAt = Date.now() + lifeMs;
    token = { header: `Bearer ${answer.access_token}`, endsAt, renewAt: endsAt - Math.min(renewalMsMax, lifeMs / 10) };
    return token;
  };

  const current = async (): Promise<Token> => {
    const now = Date.now();
    if (token !== undefined && now < token.renewAt) return token;
    if (token === undefined || now >= token.endsAt) return fetchOnce();
    // The old token still works, so the call does not wait for the new one.
    const old = token;
    fetchOnce().catch(() => {
      old.renewAt = Math.min(Date.now() + renewalPauseMs, old.endsAt);
    });
    return old;
  };

  return {
    headers: async () => ({ authorization: (await current()).header }),
    renew: ({ authorization }) => {
      // Another call may have renewed it meanwhile.
      if (token?.header === authorization) token = undefined;
      return true;
    },
  };
};
