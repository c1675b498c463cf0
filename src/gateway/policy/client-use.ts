/** Reports the recent use of clients, and the smaller grant that would have been enough for their calls. */
import { dayMs } from '#src/platform/clock.ts';
import { type AuditReaderDeps, noteAuditRead } from '../audit/search/search-audit.ts';
import type { RouteTable } from '../model/route.ts';
import { oldestEvent, sumClientUse } from './client-use-store.ts';

export type ClientUse = {
  clientId: string;
  /** Start of the calls covered: later than asked for a younger client or audit, and when there were too many. */
  since: Date;
  /** There are more calls than were read, so a scope may have been needed before `since`. */
  partial: boolean;
  calls: number;
  routes: { routeId: string; method: string; path: string; calls: number; last: Date }[];
  refusals: { routeId: string | null; path: string | null; reason: string | null; calls: number; last: Date }[];
  /** The granted scopes in their sequence. `last` null: no call needed the scope. */
  scopes: { name: string; calls: number; last: Date | null }[];
  unused: string[];
  /** Used scopes, and scopes in a dry run of a route that the client called, which may be required soon. */
  proposed: string[];
};

const kindsMax = 500;
const entriesMaxDefault = 50_000;

type ClientUseDeps = AuditReaderDeps & { table: Pick<RouteTable, 'routes' | 'scopes'> };

type AskedClient = { clientId: string; scopes: readonly string[] | null; created?: Date };

/**
 * `scopes`: granted ones, null for all. The existence of the clients is not checked; an unknown client used nothing.
 */
export const reportClientUse = async (
  deps: ClientUseDeps,
  clients: readonly AskedClient[],
  { days, entriesMax = entriesMaxDefault }: { days: number; entriesMax?: number },
): Promise<ClientUse[]> => {
  if (clients.length === 0) return [];
  await noteAuditRead(deps, { read: 'client-use', clients: clients.map(({ clientId }) => clientId), days });
  const found: ClientUse[] = [];
  const oldest = await oldestEvent(deps.db);
  for (const client of clients) {
    const since = startOf(deps.clock.now(), days, [oldest, client.created]);
    found.push(await useOf(deps, client, since, entriesMax));
  }
  return found;
};

/** Beginning of the last `days`, or the latest of `starts`, before which there can be no calls. */
export const startOf = (now: Date, days: number, starts: readonly (Date | undefined)[]): Date =>
  starts.reduce<Date>((since, start) => latest(since, start), new Date(now.getTime() - dayMs * days));

const useOf = async (
  { db, table }: ClientUseDeps,
  { clientId, scopes }: AskedClient,
  asked: Date,
  entriesMax: number,
): Promise<ClientUse> => {
  const { rows, entries, oldest } = await sumClientUse(db, clientId, { since: asked, entriesMax, kindsMax });
  const routeOf = new Map(table.routes.map((route) => [route.id, route]));
  const allowed = rows.filter((row) => row.allowed);
  const needed = new Set<string>();
  const used = new Map<string, { calls: number; last: Date }>();
  const routes = new Map<string, ClientUse['routes'][number]>();
  for (const { routeId, scopes: required, calls, last } of allowed) {
    const route = routeOf.get(routeId ?? '');
    for (const scope of required) {
      const before = used.get(scope);
      used.set(scope, { calls: calls + (before?.calls ?? 0), last: latest(last, before?.last) });
    }
    for (const scope of [...required, ...(route?.dryRun?.scopes ?? [])]) needed.add(scope);
    const id = routeId ?? '';
    // Rows are sorted latest first; a route whose scopes changed has several rows.
    const before = routes.get(id);
    if (before !== undefined) before.calls += calls;
    else
      routes.set(id, {
        routeId: id,
        method: route?.method ?? '',
        path: route?.path ?? id,
        calls,
        last,
      });
  }
  const granted = scopes ?? table.scopes.map(({ name }) => name);
  // The kinds that were left out were called before the last one that was not.
  const cut = allowed.length >= kindsMax ? allowed.at(-1)?.last : undefined;
  const partial = entries >= entriesMax || cut !== undefined;
  return {
    clientId,
    since: cut ?? (partial && oldest !== null ? oldest : asked),
    partial,
    calls: allowed.reduce((sum, { calls }) => sum + calls, 0),
    routes: [...routes.values()],
    refusals: rows
      .filter((row) => !row.allowed)
      .map(({ routeId, reason, calls, last }) => ({
        routeId,
        path: routeOf.get(routeId ?? '')?.path ?? null,
        reason,
        calls,
        last,
      })),
    scopes: granted.map((name) => ({
      name,
      calls: used.get(name)?.calls ?? 0,
      last: used.get(name)?.last ?? null,
    })),
    unused: granted.filter((scope) => !used.has(scope)),
    proposed: granted.filter((scope) => needed.has(scope)),
  };
};

const latest = (one: Date, other: Date | undefined): Date =>
  other === undefined || one.getTime() > other.getTime() ? one : other;
