/** Lists the callers that would be refused if the scopes in dry runs became required. */
import type { DryRunRow } from './dry-run-store.ts';
import { type DryRunDeps, pageDryRuns } from './page-dry-runs.ts';

const pageRows = 200;
const rowsMax = 10_000;

/** Includes only dry runs that the route table still names, the latest first. `more`: there are further ones. */
export const reportDryRuns = async (
  deps: DryRunDeps,
  { days }: { days: number },
): Promise<{ dryRuns: DryRunRow[]; more: boolean }> => {
  const dryRuns: DryRunRow[] = [];
  let before: string | undefined;
  do {
    const page = await pageDryRuns(deps, { days, before, limit: pageRows });
    dryRuns.push(...page.dryRuns);
    before = page.next;
  } while (before !== undefined && dryRuns.length < rowsMax);
  return { dryRuns, more: before !== undefined };
};
