/** Compares the granted scopes of each client with the used ones, and proposes the smaller grant. */
import { callsByRoute } from '../audit/chain/event-store.ts';
import { type AuditReaderDeps, noteAuditRead } from '../audit/search/search-audit.ts';
import { listClients } from '../credentials/show/list-store.ts';
import type { RouteTable } from '../model/route.ts';
import { startOf } from './client-use.ts';
import { oldestEvent } from './client-use-store.ts';

export type UnusedScopes = {
  clientId: string;
  name: string;
  /** Beginning of the calls that were read: later than asked for a younger client or audit. */
  since: Date;
  calls: number;
  granted: string[];
  /** Scope -> number of calls to routes that required it. */
  used: Record<string, number>;
  unused: string[];
  /** Used scopes, and scopes in a dry run of a route that the client called, which may be required soon. */
  proposed: string[];
};

/**
 * Clients whose grant could be smaller, oldest first, without disabled clients, and without those that used nothing and are
 * younger than the days.
 */
export const reportUnusedScopes = async (
  deps: AuditReaderDeps & { table: RouteTable },
  { days }: { days: number },
): Promise<UnusedScopes[]> => {
  await noteAuditRead(deps, { read: 'unused-scopes', days });
  const asked = startOf(deps.clock.now(), days, []);
  const oldest = await oldestEvent(deps.db);
  const all = deps.table.scopes.map(({ name }) => name);
  const triedOut = new Map(deps.table.routes.map(({ id, dryRun }) => [id, dryRun?.scopes ?? []]));
  const found: UnusedScopes[] = [];
  for (const { id, name, created, scopes, revoked } of await listClients(deps.db)) {
    if (revoked) continue;
    const used: Record<string, number> = {};
    const needed = new Set<string>();
    const since = startOf(deps.clock.now(), days, [oldest, created]);
    let calls = 0;
    for (const row of await callsByRoute(deps.db, id, since)) {
      calls += row.calls;
      for (const scope of row.scopes) used[scope] = (used[scope] ?? 0) + row.calls;
      for (const scope of [...row.scopes, ...(triedOut.get(row.routeId ?? '') ?? [])]) needed.add(scope);
    }
    const granted = scopes ?? all;
    const proposed = granted.filter((scope) => needed.has(scope));
    const unused = granted.filter((scope) => used[scope] === undefined);
    if (proposed.length === granted.length || (calls === 0 && created > asked)) continue;
    found.push({ clientId: id, name, since, calls, granted, used, unused, proposed });
  }
  return found;
};
