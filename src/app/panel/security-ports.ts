/** The ports of the panel's security pages are functions of the gateway; reading the audit names the reader. */
import {
  assertNoCredential,
  auditActions,
  chartAudit,
  describeTree,
  exportFound,
  findAuditEvent,
  listHeads,
  listLiveCredentials,
  listLiveTokens,
  listVerifications,
  newestEvent,
  pageDryRuns,
  readEpoch,
  readHashedTrace,
  revokeHashed,
  searchAudit,
  startVerification,
} from '#src/gateway/index.ts';
import type { Reader, SecurityPorts } from '#src/panel/index.ts';
import { type FindEmails, idsIn, readAuditNames } from './audit-names.ts';
import type { PortDeps } from './port-deps.ts';

export const createSecurityPorts = ({ installation, routeTable }: PortDeps, users: FindEmails): SecurityPorts => {
  const { store, box, clock, log } = installation;
  const { db } = store;
  const as = (by: Reader) => ({ db, box, clock, ...by });
  return {
    actions: Object.keys(auditActions),
    routes: () => routeTable().routes.map(({ id }) => id),
    searchAudit: (by, search) => searchAudit(as(by), search),
    namesIn: (events) => readAuditNames({ db, users }, events.flatMap(idsIn)),
    namesOf: (ids) => readAuditNames({ db, users }, ids),
    assertNoCredential: (filter, name) => {
      for (const one of [filter, { client: name }]) assertNoCredential(one);
    },
    describeTree: () => describeTree(db),
    findEvent: (by, id) => findAuditEvent(as(by), id),
    exportAudit: (by, of) => exportFound(as(by), of),
    chart: (by, of) => chartAudit(as(by), of),
    listLiveTokens: (by, page) => listLiveTokens(as(by), page),
    listLiveCredentials: (page) => listLiveCredentials({ db, clock }, page),
    trace: (by, hashed) => readHashedTrace(as(by), hashed),
    revoke: async (by, hashed) => (await revokeHashed(as(by), hashed)).events,
    listVerifications: (limit) => listVerifications({ db, box, clock }, limit),
    startVerification: (by) => startVerification({ db, box, clock, log }, by),
    listHeads: (page) => listHeads(db, page),
    listDryRuns: (page) => pageDryRuns({ db, clock, table: routeTable() }, page),
    triedScopes: () =>
      routeTable().routes.flatMap(({ id, dryRun }) =>
        dryRun === undefined ? [] : [{ route: id, scopes: dryRun.scopes }],
      ),
    credentialMark: async () => JSON.stringify(await readEpoch(db)),
    auditMark: () => newestEvent(db),
  };
};
