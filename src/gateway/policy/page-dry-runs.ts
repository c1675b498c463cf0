/** The report of dry runs by pages, latest first. */
import type { Kysely } from 'kysely';
import { Fault } from '#src/contract/fault.ts';
import { type Clock, dayMs } from '#src/platform/clock.ts';
import type { RouteTable } from '../model/route.ts';
import { type DryRunPlace, type DryRunRow, pageDryRunCounts } from './dry-run-store.ts';

const readMax = 200;
const roundsMax = 10;

export type DryRunDeps = { db: Kysely<unknown>; clock: Clock; table: RouteTable };

/**
 * Includes only dry runs that the route table still names, so a page may be short before the end; `next` undefined is
 * the end. VALIDATION_ERROR for an invalid cursor.
 */
export const pageDryRuns = async (
  { db, clock, table }: DryRunDeps,
  { days, before, limit }: { days: number; before?: string | undefined; limit: number },
): Promise<{ dryRuns: DryRunRow[]; next: string | undefined }> => {
  const tried = new Map(table.routes.map(({ id, dryRun }) => [id, new Set(dryRun?.scopes)]));
  const since = new Date(clock.now().getTime() - days * dayMs);
  let place = before === undefined ? undefined : readPlace(before);
  const found: DryRunRow[] = [];
  for (let i = 0; i < roundsMax; i += 1) {
    const rows = await pageDryRunCounts(db, since, place, readMax);
    for (const [index, row] of rows.entries()) {
      place = row;
      const missingScopes = row.missingScopes.filter((scope) => tried.get(row.route)?.has(scope));
      if (missingScopes.length > 0) found.push({ ...row, missingScopes });
      if (found.length < limit) continue;
      const isLast = rows.length < readMax && index === rows.length - 1;
      return { dryRuns: found, next: isLast ? undefined : writePlace(row) };
    }
    if (rows.length < readMax) return { dryRuns: found, next: undefined };
  }
  return { dryRuns: found, next: place && writePlace(place) };
};

const writePlace = ({ lastSeen, route, caller, missingScopes }: DryRunPlace): string =>
  Buffer.from(JSON.stringify([lastSeen.getTime(), route, caller, missingScopes])).toString('base64url');

const readPlace = (cursor: string): DryRunPlace => {
  try {
    const [ms, route, caller, missing] = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) as unknown[];
    const lastSeen = new Date(Number(ms));
    if (
      typeof route === 'string' &&
      typeof caller === 'string' &&
      Array.isArray(missing) &&
      !Number.isNaN(lastSeen.getTime())
    )
      return { lastSeen, route, caller, missingScopes: missing.map(String) };
  } catch {
    // Invalid; refused below.
  }
  throw new Fault('VALIDATION_ERROR', 'No page gave this cursor');
};
