/** What the panel's area "security" calls, over the features. */
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import { auditActions, findAuditEvent, searchAudit } from '#src/gateway/index.ts';
import type { AuditFilter, Reader, SecurityPorts } from '#src/panel/index.ts';
import { toEntry } from './audit-entry.ts';
import { createIncidentPorts } from './incident-ports.ts';
import type { PortDeps } from './panel.ts';

export const createSecurityPorts = (deps: PortDeps): SecurityPorts => {
  const { installation, settings } = deps;
  const { store, box, clock } = installation;
  const table = readRouteTable(routesFileOf(settings.gateway));
  const readerDeps = (by: Reader) => ({ db: store.db, box, clock, ...by });
  return {
    actions: Object.keys(auditActions),
    routes: () => table.routes.map(({ id }) => id),
    searchAudit: async (by, { filter, before, limit }) => {
      const found = await searchAudit(readerDeps(by), { filter: toEventFilter(filter), before, limit });
      return { entries: found.events.map(toEntry), next: found.next_cursor ?? undefined };
    },
    findEvent: async (by, id) => {
      const event = await findAuditEvent(readerDeps(by), id);
      return event && toEntry(event);
    },
    ...createIncidentPorts(deps),
  };
};

const toEventFilter = ({ restaurant, decision, ...filter }: AuditFilter) => ({
  ...filter,
  tenant: restaurant,
  outcome: decision === undefined ? undefined : decision === 'allow' ? ('success' as const) : ('failure' as const),
});
