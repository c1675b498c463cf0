/** The report of an import as the interface shows it (11.3), and the refusal that carries it. */
import type { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import type { Restaurant } from '../../restaurants/restaurant.ts';
import { isoDate, legacyDate } from '../../values/venue-time.ts';
import { type importAnswer, recordAnswer } from './import-schema.ts';
import type { Finding } from './report/report.ts';
import type { ImportRecord } from './write/record-store.ts';

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
