/** Download of the audit: the events of a filter, or all of them. */
import { type Answer, file, redirect } from '../page/answer.ts';
import type { View } from '../page/page.ts';
import { readChoice } from '../page/read-query.ts';
import { exportFormats } from '../ports/security.ts';
import { resolveNames } from '../view/subject-names.ts';
import { readFilter, searchHref, toFilter } from './audit-filter.ts';
import { refuseSearch } from './search-page.ts';

const types = { jsonl: 'application/x-ndjson; charset=utf-8', csv: 'text/csv; charset=utf-8' };

export const downloadAudit = async (view: View): Promise<Answer> => {
  const { filter, wrong } = readFilter(view);
  // An invalid filter must not export everything.
  if (wrong.length > 0) return refuseSearch(view);
  const format = readChoice(view, 'format', exportFormats) ?? 'jsonl';
  const { actor, address } = view;
  view.ports.security.assertNoCredential(toFilter(filter), '');
  const { ids, unclear } = await resolveNames(view, filter);
  if (unclear.length > 0) return redirect(searchHref(filter));
  const asked = { filter: toFilter({ ...filter, ...ids }), format };
  const body = await view.ports.security.exportAudit({ actor, address }, asked);
  const day = view.now.toISOString().slice(0, 19).replaceAll(/[:T]/g, '-');
  return file(`orderpass-audit-${day}.${format}`, types[format], body);
};
