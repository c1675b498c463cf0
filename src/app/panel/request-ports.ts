/** The port of the panel's pages about the requests of clients and keys. */
import { createRequestLists } from '#src/gateway/index.ts';
import type { RequestPorts } from '#src/panel/index.ts';
import type { PortDeps } from './port-deps.ts';

const pagesize = 50;

export const createRequestPorts = ({ installation, settings }: PortDeps): RequestPorts => {
  const { store, box, clock } = installation;
  const days = settings.gateway.request_log_days;
  const lists = createRequestLists({ db: store.db, box, clock, days });
  return {
    days,
    list: async (caller, { restaurant: tenant, ...filter }, cursor) => {
      const { items, next } = await lists.requests(caller, { ...filter, tenant }, { pagesize, cursor });
      return { items: items.map(({ tenant: restaurant, ...request }) => ({ ...request, restaurant })), next };
    },
    hours: (caller, route, cursor) => lists.hours(caller, { route }, { pagesize, cursor }),
  };
};
