/**
 * The port of the panel's pages for contacts. It gives no more than the API gives the client itself: each part needs the scopes of
 * the route that it stands for. The networks of the client do not apply. They bound where its credentials may be used, so that a
 * stolen one is worthless elsewhere; a contact signs in as a person, from an office or a phone, and a secret that a
 * page shows still works from these networks only.
 */
import { Fault } from '#src/contract/fault.ts';
import { createCredentials, pageGrants, readClientNames, readClientRights, readDenial } from '#src/gateway/index.ts';
import { type OwnClient, type OwnRoute, ownRoutes, type PortalPorts } from '#src/panel/index.ts';
import { createClientWebhookViews, createWebhookViews } from '#src/webhooks/index.ts';
import { findRestaurants } from './find-restaurants.ts';
import type { PortDeps } from './port-deps.ts';

const limit = 50;

export const createPortalPorts = (deps: PortDeps): PortalPorts => {
  const show = createShow(deps);
  return { ...clientPorts(deps, show), ...changes(deps, show), ...webhookPorts(deps, show) };
};

type Show = (clientId: string) => Promise<OwnClient>;

const credentialsOf = ({ installation: { store, box, clock } }: PortDeps, actor: string) =>
  createCredentials({ db: store.db, box, clock, actor });

const createShow = (deps: PortDeps): Show => {
  const { settings, routeTable } = deps;
  return async (clientId) => {
    const client = await credentialsOf(deps, 'panel').showClient(clientId);
    const { state, scopes, secrets, keys, certificates, trusts } = client;
    const isActive = state === 'active';
    const hasActive = [...secrets, ...keys, ...certificates, ...trusts].some((one) => one.state === 'active');
    const { routes } = routeTable();
    const hasScopes = (id: string): boolean =>
      routes.find((route) => route.id === id)?.scopes.every((scope) => scopes === null || scopes.includes(scope)) ===
      true;
    return {
      ...client,
      mayChange: isActive && (hasActive || client.certificateName !== null),
      mayRotate: isActive && secrets.some((secret) => secret.state === 'active'),
      mayHaveKeys: client.mayUseTokens,
      mayHaveCertificates: settings.gateway.client_certificates !== 'off',
      // The requests of a stopped client stay, since they give the reason why it was stopped.
      mayRead: new Set(ownRoutes.filter((id) => hasScopes(id) && (isActive || id.startsWith('whoami.')))),
    };
  };
};

const clientPorts = ({ installation }: PortDeps, show: Show) => {
  const { store, clock } = installation;
  return {
    show,
    namesOf: (clientIds) => readClientNames(store.db, clientIds),
    restaurants: async (clientId, after) => {
      const { tenants, next } = await pageGrants(store.db, clientId, { after, limit });
      const known = new Map((await findRestaurants(store, tenants)).map((one) => [one.restuid, one]));
      return { items: tenants.flatMap((uid) => known.get(uid) ?? []), next: next ?? undefined };
    },
    refusal: async (clientId, requestId) =>
      (await show(clientId)).mayRead.has('whoami.denial')
        ? readDenial({ db: store.db, clock }, [clientId], requestId)
        : undefined,
  } satisfies Partial<PortalPorts>;
};

const changes = (deps: PortDeps, show: Show) => {
  /** Throws CONFLICT for a client whose calls are refused: what it cannot do itself, its contact cannot do for it. */
  const by = async (actor: string, clientId: string, may: (client: OwnClient) => boolean) => {
    if (!may(await show(clientId))) throw new Fault('CONFLICT', 'The state of the client does not allow this change');
    return credentialsOf(deps, actor);
  };
  return {
    rotateSecret: async (actor, clientId, overlapHours) =>
      (await by(actor, clientId, ({ mayRotate }) => mayRotate)).rotateClientSecret(clientId, overlapHours),
    retireSecret: async (actor, clientId, secretId, force) =>
      (await by(actor, clientId, ({ mayChange }) => mayChange)).retireClientSecret(clientId, secretId, force),
    addCertificate: async (actor, clientId, pem) => {
      const credentials = await by(actor, clientId, (client) => client.mayChange && client.mayHaveCertificates);
      return (await credentials.addClientCertificate(clientId, { pem })).thumbprint;
    },
    removeCertificate: async (actor, clientId, thumbprint) =>
      (await by(actor, clientId, ({ mayChange }) => mayChange)).removeClientCertificate(clientId, thumbprint),
    addKey: async (actor, clientId, jwk) => {
      const credentials = await by(actor, clientId, (client) => client.mayChange && client.mayHaveKeys);
      return (await credentials.addClientKey(clientId, parseKey(jwk))).keyId;
    },
    removeKey: async (actor, clientId, keyId) =>
      (await by(actor, clientId, ({ mayChange }) => mayChange)).revokeClientKey(clientId, keyId),
  } satisfies Partial<PortalPorts>;
};

const webhookPorts = ({ installation }: PortDeps, show: Show) => {
  const { db } = installation.store;
  const { clock } = installation;
  const ofClient = createClientWebhookViews({ db, clock });
  const ofTenant = createWebhookViews({ db, clock });
  const mayRead = async (clientId: string, route: OwnRoute): Promise<boolean> =>
    (await show(clientId)).mayRead.has(route);
  /** Those endpoints that the client could read at the API now, by the route. */
  const readable = async <T extends { tenant: string }>(
    clientId: string,
    endpoints: readonly T[],
    route: OwnRoute,
  ): Promise<T[]> => {
    if (endpoints.length === 0 || !(await mayRead(clientId, route))) return [];
    const tenants = [...new Set(endpoints.map(({ tenant }) => tenant))];
    const rights = await readClientRights(
      db,
      tenants.map((tenant) => ({ tenant, clientId })),
    );
    const open = new Set(rights.filter(({ mayCall }) => mayCall).map(({ tenant }) => tenant));
    return endpoints.filter(({ tenant }) => open.has(tenant));
  };
  return {
    endpoints: async (clientId, after) => {
      const { items, next } = await ofClient.listEndpoints(clientId, { after, limit });
      return { items: await readable(clientId, items, 'webhook.endpoints'), next };
    },
    endpoint: async (clientId, uid) => {
      const found = await ofClient.findEndpoint(clientId, uid);
      return found && (await readable(clientId, [found], 'webhook.endpoint'))[0];
    },
    deliveryMark: (clientId) => ofClient.deliveryMark(clientId),
    deliveries: async (clientId, { tenant, uid: endpointUid }, after) =>
      (await mayRead(clientId, 'webhook.deliveries'))
        ? ofTenant.searchDeliveries(tenant, { ...anyDelivery, endpointUid, after, limit })
        : { items: [], next: undefined },
    delivery: async (clientId, endpoint, uid) => {
      if (!(await mayRead(clientId, 'webhook.delivery'))) return undefined;
      const found = await ofClient.findDelivery(clientId, endpoint.tenant, uid);
      return found?.endpointUid === endpoint.uid ? found : undefined;
    },
  } satisfies Partial<PortalPorts>;
};

const anyDelivery = {
  eventId: undefined,
  event: undefined,
  state: undefined,
  redeliveryUid: undefined,
  since: undefined,
};

const keyLengthMax = 16_384;

const parseKey = (text: string): unknown => {
  try {
    if (text.length <= keyLengthMax) return JSON.parse(text);
  } catch {
    // Refused below, as a text that is too long is.
  }
  throw new Fault('VALIDATION_ERROR', 'The key is not a JSON Web Key');
};
