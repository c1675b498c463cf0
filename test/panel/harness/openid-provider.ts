/** A real OpenID provider without a login page: every visitor is the user that `who()` returns. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';

export type Identity = { sub: string; email: string; email_verified: boolean };

export const clientId = 'panel';
export const clientSecret = 'a secret of the panel';

/** `serve` comes later: the client's address is known when the program runs, which must know the issuer. */
export const startOpenidProvider = async (host = '127.0.0.1') => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const issuer = `http://${host}:${(server.address() as AddressInfo).port}`;
  return {
    issuer,
    serve: (clientOrigin: string, who: () => Identity): void => {
      const provider = createProvider(issuer, clientOrigin, who);
      const handle = provider.callback();
      server.on('request', (request, response) => {
        if (!request.url?.startsWith('/interaction/')) return handle(request, response);
        void (async () => {
          const { sub } = who();
          const { params } = await provider.interactionDetails(request, response);
          const grant = new provider.Grant({ accountId: sub, clientId: String(params.client_id) });
          grant.addOIDCScope('openid email');
          const result = { login: { accountId: sub }, consent: { grantId: await grant.save() } };
          await provider.interactionFinished(request, response, result);
        })();
      });
    },
    close: async (): Promise<void> => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

export type OpenidProvider = Awaited<ReturnType<typeof startOpenidProvider>>;

const createProvider = (issuer: string, clientOrigin: string, who: () => Identity): Provider =>
  new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        redirect_uris: [`${clientOrigin}/panel/sign-in/provider/return`],
      },
    ],
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    conformIdTokenClaims: false,
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ ...who(), sub: id }) }),
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    features: { devInteractions: { enabled: false } },
    ttl: { Interaction: 60, Session: 60, Grant: 60, IdToken: 60, AccessToken: 60, AuthorizationCode: 60 },
    cookies: { keys: ['a key of the test'] },
  });
