/** A request for each operation on webhooks and events, and for what the gateway answers itself. */
import { until } from '../../support/until.ts';
import { change, type RequestOf, read } from './ordering-requests.ts';
import type { Request, Shop } from './shop.ts';

/** An endpoint of the client, which has twenty at most. */
const newEndpoint = (shop: Shop): Request =>
  change(shop, '/webhook/create', { url: `${shop.receiverUrl}/hook`, kinds: ['customers'] });

type Made = { endpoint: { uid: string } };

const made = async (shop: Shop): Promise<string> => ((await shop.call(newEndpoint(shop))) as Made).endpoint.uid;

const removeOwn = async (shop: Shop): Promise<void> => {
  const request = { ...read(shop, '/webhook/endpoints'), authorization: shop.token };
  const { endpoints } = (await shop.call(request)) as { endpoints: { uid: string }[] };
  for (const { uid } of endpoints) await shop.call(change(shop, '/webhook/remove', { uid }));
};

/** One endpoint of the client at a time. */
const own = async (shop: Shop): Promise<string> => {
  await removeOwn(shop);
  return made(shop);
};

const waiting = async (shop: Shop): Promise<{ uid: string; event_id: string }> => {
  const { deliveries } = (await shop.call(read(shop, '/webhook/deliveries', { pagesize: '100' }))) as {
    deliveries: { uid: string; event_id: string }[];
  };
  return deliveries[Math.floor(Math.random() * deliveries.length)] ?? { uid: '', event_id: '' };
};

const ownSecret = ({ scaled: { client } }: Shop): Record<string, string> => ({
  client_id: client.id,
  client_secret: client.secret,
});

const tokenRequest = (shop: Shop, more: Record<string, string> = {}): Request => ({
  path: '/api/oauth/token',
  form: { grant_type: 'client_credentials', ...ownSecret(shop), ...more },
});

const issued = async (shop: Shop, more: Record<string, string> = {}): Promise<string> =>
  String((await shop.call(tokenRequest(shop, more))).access_token);

/** A refusal that the client can read, which is written a moment after its answer. */
const denied = async (shop: Shop): Promise<Request> => {
  const token = await issued(shop, { scope: 'read:menu' });
  const answer = await shop.fetch({ ...read(shop, '/orders/list'), authorization: `Bearer ${token}` });
  const id = answer.headers.get('x-request-id') ?? '';
  await answer.text();
  const request = { path: `/api/whoami/denials/${id}`, authorization: shop.token };
  await until(async () => {
    const found = await shop.fetch(request);
    await found.text();
    return found.ok;
  });
  return request;
};

const document = (path: string): [string, RequestOf] => [`GET ${path}`, () => ({ path })];

export const gatewayRequests: Readonly<Record<string, RequestOf>> = {
  'GET /api/webhook/endpoints': (shop) => read(shop, '/webhook/endpoints'),
  'GET /api/webhook/endpoint': (shop) => read(shop, '/webhook/endpoint', { uid: shop.scaled.endpointUid }),
  'POST /api/webhook/create': async (shop) => {
    await removeOwn(shop);
    return newEndpoint(shop);
  },
  'POST /api/webhook/update': async (shop) =>
    change(shop, '/webhook/update', { uid: await own(shop), description: 'Kitchen' }),
  'POST /api/webhook/remove': async (shop) => change(shop, '/webhook/remove', { uid: await own(shop) }),
  'POST /api/webhook/rotate-secret': async (shop) => change(shop, '/webhook/rotate-secret', { uid: await own(shop) }),
  'POST /api/webhook/test': async (shop) => change(shop, '/webhook/test', { uid: await own(shop) }),
  'GET /api/webhook/deliveries': (shop) => read(shop, '/webhook/deliveries'),
  'GET /api/webhook/delivery': async (shop) => read(shop, '/webhook/delivery', { uid: (await waiting(shop)).uid }),
  'POST /api/webhook/redeliver': async (shop) => {
    const { event_id: eventId } = await waiting(shop);
    return change(shop, '/webhook/redeliver', { endpoint_uid: await own(shop), event_id: eventId });
  },
  'GET /api/webhook/redelivery': async (shop) => {
    const { event_id: eventId } = await waiting(shop);
    const body = { endpoint_uid: await own(shop), event_id: eventId };
    const { redelivery } = (await shop.call(change(shop, '/webhook/redeliver', body))) as {
      redelivery: { uid: string };
    };
    return { ...read(shop, '/webhook/redelivery', { uid: redelivery.uid }), authorization: shop.token };
  },
  'GET /api/events/list': (shop) => read(shop, '/events/list'),
  'GET /api/whoami': () => ({ path: '/api/whoami' }),
  'GET /api/whoami/requests': () => ({ path: '/api/whoami/requests' }),
  'GET /api/whoami/usage': () => ({ path: '/api/whoami/usage' }),
  'GET /api/whoami/denials/{request_id}': denied,
  'POST /api/oauth/token': (shop) => tokenRequest(shop),
  'POST /api/oauth/introspect': async (shop) => ({
    path: '/api/oauth/introspect',
    form: { ...ownSecret(shop), token: await issued(shop) },
  }),
  'POST /api/oauth/report-leak': async (shop) => ({
    path: '/api/oauth/report-leak',
    form: { token: await issued(shop) },
  }),
  'POST /api/oauth/revoke': async (shop) => ({
    path: '/api/oauth/revoke',
    form: { ...ownSecret(shop), token: await issued(shop) },
  }),
  ...Object.fromEntries(
    [
      '/api/oauth/jwks',
      '/.well-known/oauth-authorization-server',
      '/.well-known/oauth-protected-resource',
      '/.well-known/webhook-keys',
      '/api/openapi.json',
    ].map(document),
  ),
};
