/** The report of dry runs by pages, latest first. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import type { Clock } from '#src/platform/clock.ts';
import type { RouteTable } from '../model/route.ts';
import { type DryRunPlace, type DryRunRow, pageDryRunCounts } from './dry-run-store.ts';

const dayMs = 86_400_000;
const readMax = 200;
const roundsMax = 10;

type Deps = { db: Kysely<unknown>; clock: Clock; table: RouteTable };

/**
 * Includes only dry runs that the route table still names, so a page may be short before the end; `next_cursor` null is the
 * end. VALIDATION_ERROR for an invalid cursor.
 */
export const pageDryRuns = async (
  { db, clock, table }: Deps,
  { days, before, limit }: { days: number; before?: string | undefined; limit: number },
): Promise<{ would_break: DryRunRow[]; next_cursor: string | null }> => {
  const tried = new Map(table.routes.map(({ id, dryRun }) => [id, new Set(dryRun?.scopes)]));
  const since = new Date(clock.now().getTime() - days * dayMs);
  let place = before === undefined ? undefined : readPlace(before);
  const found: DryRunRow[] = [];
  for (let i = 0; i < roundsMax; i += 1) {
    const rows = await pageDryRunCounts(db, since, place, readMax);
    for (const [index, row] of rows.entries()) {
      place = row;
      const missing_scopes = row.missing_scopes.filter((scope) => tried.get(row.route)?.has(scope));
      if (missing_scopes.length > 0) found.push({ ...row, missing_scopes });
      if (found.length < limit) continue;
      const isLast = rows.length < readMax && index === rows.length - 1;
      return { would_break: found, next_cursor: isLast ? null : writePlace(row) };
    }
    if (rows.length < readMax) return { would_break: found, next_cursor: null };
  }
  return { would_break: found, next_cursor: place === undefined ? null : writePlace(place) };
};

const writePlace = ({ last_seen, route, caller, missing_scopes }: DryRunPlace): string =>
  Buffer.from(JSON.stringify([last_seen.getTime(), route, caller, missing_scopes])).toString('base64url');

const readPlace = (cursor: string): DryRunPlace => {
  try {
    const [ms, route, caller, missing] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    const last_seen = new Date(Number(ms));
    if (
      typeof route === 'string' &&
      typeof caller === 'string' &&
      Array.isArray(missing) &&
      !Number.isNaN(last_seen.getTime())
    )
      return { last_seen, route, caller, missing_scopes: missing.map(String) };
  } catch {
    // Invalid; refused below.
  }
  throw new Fault('VALIDATION_ERROR', 'No page gave this cursor');
};
