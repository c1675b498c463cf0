/** Carries out what a search finds, newest first, a page in memory at a time. Nothing that is written meanwhile is in it. */

import { markSigned } from '../chain/mark-signed.ts';
import type { Place } from './access-path-store.ts';
import { type ExportFormat, formatOf } from './export-audit.ts';
import type { EventFilter } from './filter-store.ts';
import { type AskedFilter, resolveFilter } from './issued-use.ts';
import { type AuditReaderDeps, assertNoCredential, noteAuditRead } from './search-audit.ts';
import { searchEvents } from './search-store.ts';

const pageEvents = 200;

/** Resolves when the reading is in the audit; the lines come as they are taken. VALIDATION_ERROR as a search has it. */
export const exportFound = async (
  deps: AuditReaderDeps,
  { filter, format }: { filter: AskedFilter; format: ExportFormat },
): Promise<AsyncIterable<string>> => {
  assertNoCredential(filter);
  const now = deps.clock.now();
  await noteAuditRead(deps, { read: 'export', format, filter });
  const until = filter.until === undefined || filter.until > now ? now : filter.until;
  return lines(deps, { ...(await resolveFilter(deps.db, filter)), until }, format);
};

async function* lines(
  deps: AuditReaderDeps,
  filter: EventFilter,
  format: ExportFormat,
): AsyncGenerator<string, void, undefined> {
  const { head, toText } = formatOf(format);
  if (head !== '') yield head;
  let place: Place | undefined;
  do {
    const { events, next } = await searchEvents(deps.db, filter, place, pageEvents);
    if (events.length > 0) yield toText(await markSigned(deps, events));
    place = next;
  } while (place !== undefined);
}
