/**
 * The client of an external OpenID provider: authorization code with PKCE, state and nonce. The provider confirms an
 * identity; sign-in-with-provider.ts decides which account it belongs to.
 */
import type { Configuration } from 'openid-client';
import type { PendingProvider } from './pending-sign-in.ts';

/** `email`: present only if the provider has verified it. */
export type Identity = { issuer: string; subject: string; email: string | undefined };

/** The settings of the provider. Without issuer, id and secret no provider is configured. */
export type ProviderSettings = {
  oidc_issuer?: string | undefined;
  oidc_client_id?: string | undefined;
  oidc_client_secret?: string | undefined;
  oidc_label: string;
};

export type ExternalProvider = {
  label: string;
  /**
   * The address to redirect the browser to, and the state to store until it returns. Rejects when the provider is away.
   */
  begin(next: string): Promise<{ url: string; pending: Omit<PendingProvider, 'until'> }>;
  /** Rejects when the answer is invalid. `query`: of the address that the browser returned to. */
  finish(query: URLSearchParams, pending: PendingProvider): Promise<Identity>;
};

const timeoutSeconds = 10;

/**
 * Undefined when no provider is configured. `redirectUri`: our public address that the provider redirects the browser
 * to. `readSecret`: the client secret now.
 */
export const createExternalProvider = (
  settings: ProviderSettings,
  redirectUri: string,
  readSecret: () => string | undefined = () => settings.oidc_client_secret,
): ExternalProvider | undefined => {
  const { oidc_issuer: issuer, oidc_client_id: clientId, oidc_client_secret: secret } = settings;
  if (issuer === undefined || clientId === undefined || secret === undefined) return undefined;
  const configuration = createDiscovery({ issuer, clientId, readSecret: () => readSecret() ?? secret });
  return {
    label: settings.oidc_label,
    begin: async (next) => {
      // Imported at the first sign-in with the provider, because the command line loads this file too.
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
 * OpenID Connect Core 3.1.3.7, steps 4 and 5: with several audiences `azp` is required, and if it is present it must
 * name this client. The library checks `azp` only with several audiences. Without this check a token that was issued to
 * another client would open an account here.
 */
const assertIssuedTo = ({ aud, azp }: { aud?: unknown; azp?: unknown }, clientId: string): void => {
  const isShared = Array.isArray(aud) && aud.length > 1;
  if (azp === undefined ? isShared : azp !== clientId)
    throw new Error('the id_token was issued to another client (azp)');
};

type DiscoveryDeps = { issuer: string; clientId: string; readSecret: () => string };

/**
 * Discovers the provider at the first sign-in with it, and again with another secret, which the discovery keeps. A failed
 * discovery is repeated at the next sign-in.
 */
const createDiscovery = ({ issuer, clientId, readSecret }: DiscoveryDeps) => {
  let found: Promise<Configuration> | undefined;
  let secretOfFound = '';
  const discover = async (secret: string): Promise<Configuration> => {
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
    const secret = readSecret();
    if (found !== undefined && secret === secretOfFound) return found;
    const made = discover(secret).catch((error: unknown) => {
      if (found === made) found = undefined;
      throw error;
    });
    [found, secretOfFound] = [made, secret];
    return made;
  };
};
