/** Lists the callers that would be refused if the scopes in dry runs became required. */
import type { Kysely } from 'kysely';
import { type Clock, dayMs } from '#src/platform/clock.ts';
import type { RouteTable } from '../model/route.ts';
import { type DryRunRow, listDryRunCounts } from './dry-run-store.ts';

const rowsMax = 10_000;

/** Includes only dry runs that the route table still names. */
export const reportDryRuns = async (
  deps: { db: Kysely<unknown>; clock: Clock; table: RouteTable },
  options: { days: number },
): Promise<DryRunRow[]> => {
  const tried = new Map(deps.table.routes.map(({ id, dryRun }) => [id, new Set(dryRun?.scopes)]));
  const since = new Date(deps.clock.now().getTime() - options.days * dayMs);
  return (await listDryRunCounts(deps.db, since, rowsMax))
    .map((row) => ({ ...row, missingScopes: row.missingScopes.filter((scope) => tried.get(row.route)?.has(scope)) }))
    .filter(({ missingScopes }) => missingScopes.length > 0);
};
