/** The functions of the command line on the requests of clients and keys. Ids, codes and times only, so a reading is not in the audit. */
import { Fault } from '#src/contract/fault.ts';
import { createRequestLists, type RequestFilter, readBounds } from '#src/gateway/index.ts';
import type { AdminDeps } from './admin-deps.ts';

type Caller = { kind: 'client' | 'key'; id: string };
type Paging = { pagesize: number; cursor: string | undefined };

/** NOT_FOUND: there is no such client or key. CONFLICT: the installation keeps no requests. */
export const createRequestsAdmin = ({ installation, settings }: Pick<AdminDeps, 'installation' | 'settings'>) => {
  const { store, box, clock } = installation;
  const lists = createRequestLists({ db: store.db, box, clock, days: settings.gateway.request_log_days });
  const known = async ({ kind, id }: Caller): Promise<string> => {
    await readBounds(store.db, kind, id);
    if (lists.days === 0) throw new Fault('CONFLICT', 'ORDERPASS_REQUEST_LOG_DAYS is 0: no requests are kept');
    return id;
  };
  return {
    listRequests: async (caller: Caller, filter: RequestFilter, paging: Paging) => {
      const { items, next } = await lists.requests(await known(caller), filter, paging);
      return { items: items.map(({ tenant: restuid, ...request }) => ({ ...request, restuid })), next };
    },
    listRequestHours: async (caller: Caller, filter: { route?: string | undefined }, paging: Paging) =>
      lists.hours(await known(caller), filter, paging),
  };
};
