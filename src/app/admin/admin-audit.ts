/** The audit, and what it knows of credentials. A search or export is itself recorded before it reads. */
import { readRouteTable, routesFileOf } from '#src/gateway/config.ts';
import {
  appendChange,
  type ExportRequest,
  exportAudit,
  reportDryRuns,
  reportUnusedScopes,
  revokeTraced,
  searchAudit,
  traceCredential,
  verifyAgainst,
  verifyAudit,
} from '#src/gateway/index.ts';
import { inTransaction } from '#src/platform/db/transaction.ts';
import type { AdminDeps } from './admin-deps.ts';

export const createAuditAdmin = ({ installation, settings, actor }: AdminDeps) => {
  const { store, box, clock } = installation;
  return {
    /** Callers that scopes on trial would refuse; `days`: seen within so many days. */
    reportDryRuns: (options: { days: number }) =>
      reportDryRuns({ db: store.db, clock, table: readRouteTable(routesFileOf(settings.gateway)) }, options),
    verifyAudit: (onProgress: (events: number) => void) => verifyAudit({ db: store.db, box }, onProgress),
    /** `lines`: of an export. Fault VALIDATION_ERROR when they are not. */
    verifyAgainst: (lines: AsyncIterable<string>) => verifyAgainst({ db: store.db, box }, lines),
    /** The next three record the reader in the audit before they read. */
    searchAudit: (search: Parameters<typeof searchAudit>[1]) =>
      searchAudit({ db: store.db, box, clock, actor }, search),
    exportAudit: (request: ExportRequest) => exportAudit({ db: store.db, box, clock, actor }, request),
    reportUnusedScopes: (options: { days: number }) =>
      reportUnusedScopes(
        { db: store.db, box, clock, actor, table: readRouteTable(routesFileOf(settings.gateway)) },
        options,
      ),
    /** Reading the audit is recorded in the audit before the result is returned. */
    traceCredential: async (value: string) => {
      const traced = await traceCredential({ db: store.db, box }, value);
      const { fingerprint, client_id, credential_id } = traced;
      await inTransaction(store.db, (tx) =>
        appendChange(tx, box, clock.now(), { action: 'audit.read', actor, fingerprint, client_id, credential_id }),
      );
      return traced;
    },
    revokeTraced: (value: string) => revokeTraced({ db: store.db, box, clock, actor }, value),
  };
};
