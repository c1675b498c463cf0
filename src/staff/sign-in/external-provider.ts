/**
 * Sign-in by an external OpenID provider: authorization code with PKCE, state and nonce. The provider says who somebody is;
 * whether there is an account, and what it may do, is decided here.
 */
import type { Configuration } from 'openid-client';
import type { PendingProvider } from './pending-sign-in.ts';

/** `email` only when the provider has verified it. */
export type Identity = { issuer: string; subject: string; email: string | undefined };

/** Settings of the provider, as they stand in the configuration; without issuer, id and secret there is no provider. */
export type ProviderSettings = {
  oidc_issuer?: string | undefined;
  oidc_client_id?: string | undefined;
  oidc_client_secret?: string | undefined;
  oidc_label: string;
};

export type ExternalProvider = {
  label: string;
  /** Where the browser goes, and what must be remembered until it comes back. Rejects when the provider is away. */
  begin(next: string): Promise<{ url: string; pending: Omit<PendingProvider, 'until'> }>;
  /** Rejects when what came back does not fit. `query`: of the address that the browser came back to. */
  finish(query: URLSearchParams, pending: PendingProvider): Promise<Identity>;
};

const timeoutSeconds = 10;

/** Undefined: none is configured. `redirectUri`: public address of ours that the provider sends the browser back to. */
export const createExternalProvider = (
  settings: ProviderSettings,
  redirectUri: string,
): ExternalProvider | undefined => {
  const { oidc_issuer: issuer, oidc_client_id: clientId, oidc_client_secret: secret } = settings;
  if (issuer === undefined || clientId === undefined || secret === undefined) return undefined;
  const configuration = createDiscovery({ issuer, clientId, secret });
  return {
    label: settings.oidc_label,
    begin: async (next) => {
      // Read when somebody first signs in this way: the command line loads this file too.
      const openid = await import('openid-client');
      const verifier = openid.randomPKCECodeVerifier();
      const pending = {
        kind: 'provider' as const,
        verifier,
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        next,
      };
      const url = openid.buildAuthorizationUrl(await configuration(), {
        redirect_uri: redirectUri,
        scope: 'openid email',
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      return { url: url.href, pending };
    },
    finish: async (query, { verifier, state, nonce }) => {
      const openid = await import('openid-client');
      const tokens = await openid.authorizationCodeGrant(await configuration(), new URL(`${redirectUri}?${query}`), {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('the provider sent no identity');
      assertIssuedTo(claims, clientId);
      const email = claims.email_verified === true && typeof claims.email === 'string' ? claims.email : undefined;
      return { issuer: claims.iss, subject: claims.sub, email };
    },
  };
};

/**
 * OpenID Connect Core 3.1.3.7, steps 4 and 5: with several audiences `azp` must be there, and where it is there it must name
 * this client. The library looks at `azp` only where there are several audiences. Otherwise a token that another client got would open an account here.
 */
export const assertIssuedTo = ({ aud, azp }: { aud?: unknown; azp?: unknown }, clientId: string): void => {
  const isShared = Array.isArray(aud) && aud.length > 1;
  if (azp === undefined ? isShared : azp !== clientId)
    throw new Error('the id_token was issued to another client (azp)');
};

/** Asked once, when somebody first signs in this way; a provider that was away is asked again. */
const createDiscovery = ({ issuer, clientId, secret }: { issuer: string; clientId: string; secret: string }) => {
  let found: Promise<Configuration> | undefined;
  const discover = async (): Promise<Configuration> => {
    const openid = await import('openid-client');
    const isPlain = issuer.startsWith('http:');
    const configuration = await openid.discovery(new URL(issuer), clientId, secret, undefined, {
      timeout: timeoutSeconds,
      execute: [openid.enableNonRepudiationChecks, ...(isPlain ? [openid.allowInsecureRequests] : [])],
    });
    configuration.timeout = timeoutSeconds;
    return configuration;
  };
  return (): Promise<Configuration> => {
    found ??= discover().catch((error: unknown) => {
      found = undefined;
      throw error;
    });
    return found;
  };
};
