/** The report of an import as the interface shows it (11.3), and the refusal that carries it. */
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import type { Restaurant } from '../../restaurants/restaurant.ts';
import { isoDate, legacyDate } from '../../venue-time.ts';
import { describedFindings, describedItems } from './described-elements.ts';
import type { Finding, ReportItem } from './report.ts';
import type { ImportOutcome } from './run-import.ts';

const actionCounts = z.object({ created: z.int(), updated: z.int(), unchanged: z.int(), removed: z.int() });

/**
 * Items and findings are built member by member where they arise, and there may be tens of thousands: they are not walked
 * through once more here.
 */
const list = <T>(described: Record<string, unknown>) =>
  z.custom<readonly T[]>((value) => Array.isArray(value)).meta(described);

export const importAnswer = z.object({
  version: z.int().nullable(),
  base_version: z.int(),
  plan_id: z.string().nullable(),
  plan_expires_iso: z.string().nullable(),
  state: z.enum(['planned', 'running', 'applied', 'failed']),
  percent: z.int(),
  kind: z.enum(['import', 'revert']),
  pos_uid: z.string(),
  update_mode: z.enum(['replace', 'merge']),
  client_id: z.string(),
  created: z.string().nullable(),
  created_iso: z.string().nullable(),
  counts: z.object({
    categories: actionCounts,
    products: actionCounts,
    options: actionCounts,
    option_values: actionCounts,
  }),
  removal_percent: z.number(),
  items: list<ReportItem>(describedItems),
  warnings: list<Finding>(describedFindings),
  errors: list<Finding>(describedFindings),
});

export type ImportSender = { posUid: string; mode: 'replace' | 'merge'; clientId: string; now: Date };

export const importView = (
  outcome: ImportOutcome,
  sender: ImportSender,
  restaurant: Restaurant,
): z.infer<typeof importAnswer> => ({
  version: outcome.applied ? outcome.version : null,
  base_version: outcome.baseVersion,
  plan_id: null,
  plan_expires_iso: null,
  state: outcome.applied ? 'applied' : 'failed',
  percent: outcome.applied ? 100 : 0,
  kind: 'import',
  pos_uid: sender.posUid,
  update_mode: sender.mode,
  client_id: sender.clientId,
  created: legacyDate(sender.now, restaurant.apiTimeZone),
  created_iso: isoDate(sender.now, restaurant.timeZone),
  counts: outcome.counts,
  removal_percent: outcome.removalPercent,
  items: outcome.items,
  warnings: outcome.warnings,
  errors: outcome.errors,
});

/** Faults that `errors` of the envelope repeats; the report has them all. */
const repeatedMax = 100;

/** IMPORT_ERROR with the whole report as member `import`. */
export const importFault = (outcome: ImportOutcome, report: z.infer<typeof importAnswer>): Fault => {
  const elements = new Set(outcome.errors.map(({ pointer }) => elementOf(pointer ?? ''))).size;
  const listed = outcome.errors.length;
  const message = `${elements} ${elements === 1 ? 'element is' : 'elements are'} not valid`;
  return new Fault(
    'IMPORT_ERROR',
    outcome.errorCount > listed
      ? `${message}; the first ${listed} of ${outcome.errorCount} faults are listed`
      : message,
    {
      errors: outcome.errors.slice(0, repeatedMax).map((error) => ({
        pointer: error.pointer ?? '',
        code: 'IMPORT_ERROR',
        message: `${error.code}: ${error.message}`,
      })),
      extra: { import: report },
    },
  );
};

/** `/products/3/options/0/name` → `/products/3`. */
const elementOf = (pointer: string): string => pointer.split('/').slice(0, 3).join('/');
