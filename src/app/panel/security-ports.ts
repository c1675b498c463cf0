/** Implements the ports of the panel's security pages with the features. */
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import {
  auditActions,
  chartAudit,
  exportFound,
  findAuditEvent,
  type LiveCredential as GatewayCredential,
  listLiveCredentials,
  listLiveTokens,
  newestEvent,
  pageDryRuns,
  readEpoch,
  searchAudit,
} from '#src/gateway/index.ts';
import type { AuditFilter, DryRun, LiveCredential, Reader, SecurityPorts } from '#src/panel/index.ts';
import { toEntry } from './audit-entry.ts';
import { createIncidentPorts, toToken } from './incident-ports.ts';
import { createIntegrityPorts } from './integrity-ports.ts';
import type { PortDeps } from './port-deps.ts';

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
      return {
        entries: found.events.map(toEntry),
        next: found.next_cursor ?? undefined,
        searchedTo: found.searched_to === null ? undefined : new Date(found.searched_to),
      };
    },
    findEvent: async (by, id) => {
      const event = await findAuditEvent(readerDeps(by), id);
      return event && toEntry(event);
    },
    listLiveTokens: async (by, page) => {
      const { tokens, next_cursor } = await listLiveTokens(readerDeps(by), page);
      return { tokens: tokens.map(toToken), next: next_cursor ?? undefined };
    },
    listLiveCredentials: async (page) => {
      const { credentials, next_cursor } = await listLiveCredentials({ db: store.db, clock }, page);
      return { credentials: credentials.map(toLive), next: next_cursor ?? undefined };
    },
    chart: async (by, of) => {
      const { from, bucket_seconds: bucketSeconds, ...chart } = await chartAudit(readerDeps(by), of);
      return { ...chart, from: new Date(from), bucketSeconds };
    },
    credentialMark: async () => JSON.stringify(await readEpoch(store.db)),
    auditMark: () => newestEvent(store.db),
    ...createIncidentPorts(deps),
    ...createIntegrityPorts(deps),
    listDryRuns: async (page) => {
      const { would_break, next_cursor } = await pageDryRuns({ db: store.db, clock, table }, page);
      return { dryRuns: would_break.map(toDryRun), next: next_cursor ?? undefined };
    },
    triedScopes: () =>
      table.routes.flatMap(({ id, dryRun }) => (dryRun === undefined ? [] : [{ route: id, scopes: dryRun.scopes }])),
    exportAudit: (by, { filter, format }) => exportFound(readerDeps(by), { filter: toEventFilter(filter), format }),
  };
};

const toDryRun = (row: Awaited<ReturnType<typeof pageDryRuns>>['would_break'][number]): DryRun => ({
  route: row.route,
  caller: row.caller,
  missingScopes: row.missing_scopes,
  calls: row.calls,
  firstSeen: row.first_seen,
  lastSeen: row.last_seen,
});

const toLive = (shown: GatewayCredential): LiveCredential => ({
  kind: shown.kind,
  id: shown.id,
  name: shown.name,
  holder: shown.holder,
  holderName: shown.holderName,
  state: shown.state,
  created: shown.created,
  expires: shown.expires ?? undefined,
  lastUsed: shown.lastUsed ?? undefined,
  lastAddress: shown.lastAddress,
});

const toEventFilter = ({ restaurant, decision, ...filter }: AuditFilter) => ({
  ...filter,
  tenant: restaurant,
  outcome: decision === undefined ? undefined : decision === 'allow' ? ('success' as const) : ('failure' as const),
});
