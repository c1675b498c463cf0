/** The audit, and what it knows of credentials. A search or export is itself recorded before it reads. */
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import {
  type ExportRequest,
  exportAudit,
  newestCheckpoint,
  proveConsistency,
  proveEvent,
  readTrace,
  reportDryRuns,
  reportUnusedScopes,
  revokeTraced,
  searchAudit,
  verifyAgainst,
  verifyAudit,
  verifyCheckpoint,
  witnessedCheckpoint,
} from '#src/gateway/index.ts';
import type { AdminDeps } from './admin-deps.ts';

export const createAuditAdmin = ({ installation, settings, actor }: AdminDeps) => {
  const { store, box, clock } = installation;
  const tree = { db: store.db, box, checkpointKey: settings.gateway.audit_key };
  return {
    /** Callers that scopes on trial would refuse; `days`: seen within so many days. */
    reportDryRuns: (options: { days: number }) =>
      reportDryRuns({ db: store.db, clock, table: readRouteTable(routesFileOf(settings.gateway)) }, options),
    verifyAudit: (onProgress: (events: number) => void) => verifyAudit({ db: store.db, box }, onProgress),
    /** `lines`: of an export. Fault VALIDATION_ERROR when they are not. */
    verifyAgainst: (lines: AsyncIterable<string>) => verifyAgainst({ db: store.db, box }, lines),
    /** The next five are about signed checkpoints (interface 34). Fault VALIDATION_ERROR when there is no such proof. */
    auditCheckpoint: () => newestCheckpoint(tree),
    witnessedCheckpoint: () => witnessedCheckpoint(tree, settings.gateway.audit_witness_key),
    proveEvent: (event: string, checkpoint?: string) => proveEvent(tree, event, checkpoint),
    proveConsistency: (from: string, against?: string) => proveConsistency(tree, from, against),
    verifyCheckpoint: (checkpoint: string) => verifyCheckpoint(tree, checkpoint),
    /** The next four record the reader in the audit before they return what they read. */
    searchAudit: (search: Parameters<typeof searchAudit>[1]) =>
      searchAudit({ db: store.db, box, clock, actor }, search),
    exportAudit: (request: ExportRequest) => exportAudit({ db: store.db, box, clock, actor }, request),
    reportUnusedScopes: (options: { days: number }) =>
      reportUnusedScopes(
        { db: store.db, box, clock, actor, table: readRouteTable(routesFileOf(settings.gateway)) },
        options,
      ),
    readTrace: (value: string) => readTrace({ db: store.db, box, clock, actor }, value),
    revokeTraced: (value: string) => revokeTraced({ db: store.db, box, clock, actor }, value),
  };
};
