/** The report of an import as the interface shows it (11.3), and the refusal that carries it. */
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import type { Restaurant } from '../../restaurants/restaurant.ts';
import { isoDate, legacyDate } from '../../values/venue-time.ts';
import { describedFindings, describedItems } from './elements/described-elements.ts';
import type { Finding, ReportItem } from './report/report.ts';
import type { ImportRecord } from './write/record-store.ts';

const actionCounts = z.object({ created: z.int(), updated: z.int(), unchanged: z.int(), removed: z.int() });

/** The members of one import in a list of imports. */
export const recordAnswer = z.object({
  version: z.int().nullable(),
  base_version: z.int().nullable(),
  plan_id: z.string().nullable(),
  plan_expires_iso: z.string().nullable(),
  state: z.enum(['planned', 'running', 'applied', 'failed']),
  percent: z.int(),
  kind: z.enum(['import', 'revert']),
  pos_uid: z.string().nullable(),
  update_mode: z.enum(['replace', 'merge']).nullable(),
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
});

/**
 * The answer of an import. Items and findings already have their final form when they are created. There may be tens of
 * thousands, so they are not copied here.
 */
const list = <T>(described: Record<string, unknown>) =>
  z.custom<readonly T[]>((value) => Array.isArray(value)).meta(described);

const lists = {
  items: list<ReportItem>(describedItems),
  warnings: list<Finding>(describedFindings),
  errors: list<Finding>(describedFindings),
};

export const importAnswer = recordAnswer.extend(lists);

/** An item of menu/imports. The lists are included only when the request names one import. */
export const listedAnswer = recordAnswer.extend(z.object(lists).partial().shape);

export const recordView = (
  record: ImportRecord,
  restaurant: Pick<Restaurant, 'timeZone' | 'apiTimeZone'>,
): z.infer<typeof recordAnswer> => ({
  version: record.version,
  base_version: record.baseVersion,
  plan_id: record.planId,
  plan_expires_iso: isoDate(record.planExpires, restaurant.timeZone),
  state: record.state,
  percent: record.percent,
  kind: record.kind,
  pos_uid: record.posUid,
  update_mode: record.updateMode,
  client_id: record.clientId,
  created: legacyDate(record.created, restaurant.apiTimeZone),
  created_iso: isoDate(record.created, restaurant.timeZone),
  counts: record.counts,
  removal_percent: record.removalPercent,
});

/** The answer as text. `report`: the JSON text of the lists, which was built in slices and is inserted unchanged. */
export const importJson = (record: ImportRecord, report: string, restaurant: Restaurant): string => {
  const members = JSON.stringify(recordAnswer.parse(recordView(record, restaurant)));
  return `{"success":true,"import":${members.slice(0, -1)},${report.slice(1)}}`;
};

/** Faults that the envelope repeats as `errors`; the report has all of them. */
const repeatedMax = 100;

/** IMPORT_ERROR with the whole report in its member `import`. */
export const importFault = (
  outcome: { errors: readonly Finding[]; errorCount: number },
  report: z.infer<typeof importAnswer>,
): Fault => {
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
