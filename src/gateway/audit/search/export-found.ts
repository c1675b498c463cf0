/**
 * Exports the results of a search, newest first, with one page in memory. Events written during the export are left
 * out.
 */

import { markSigned } from '../chain/mark-signed.ts';
import type { Place } from './access-path-store.ts';
import { formatOf } from './export-audit.ts';
import type { ExportFormat } from './export-formats.ts';
import type { EventFilter } from './filter-store.ts';
import { type AskedFilter, resolveFilter } from './issued-use.ts';
import { type AuditReaderDeps, assertNoCredential, noteAuditRead } from './search-audit.ts';
import { searchEvents } from './search-store.ts';

const pageEvents = 200;

/**
 * Resolves when the export itself is recorded in the audit; lines are read as they are consumed. A part without a line is of events
 * that do not match. VALIDATION_ERROR as in a search.
 */
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
    // Also where nothing was found: a reader that has left, or may not read on, ends the export here.
    yield events.length === 0 ? '' : toText(await markSigned(deps, events));
    place = next;
  } while (place !== undefined);
}
