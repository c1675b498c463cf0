/** The filter of the audit search, which is kept in the query. */
import { isDay } from '#src/platform/clock.ts';
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { AuditFilter } from '../ports/ports.ts';
import { exportFormats } from '../ports/security.ts';
import type { Texts } from '../texts/en/en.ts';

const textNames = [
  'client',
  'restaurant',
  'user',
  'action',
  'route',
  'address',
  'requestId',
  'fingerprint',
  'credential',
  'tokenId',
  'issuedFor',
] as const;
const timeNames = ['since', 'until'] as const;

export const searchPath = '/panel/security/audit';
const textLengthMax = 200;

type FilterField = (typeof textNames)[number] | (typeof timeNames)[number] | 'decision';

/** The fields of the search, with the names of the query parameters. */
export type SearchFields = Omit<AuditFilter, 'tenant' | 'outcome' | 'actor'> & {
  restaurant?: string;
  user?: string;
  decision?: 'allow' | 'deny';
};

/** A user as the audit names actors. */
export const actorOf = (user: string): string => `panel:${user}`;

export const toFilter = ({ restaurant, user, decision, ...filter }: SearchFields): AuditFilter => ({
  ...filter,
  ...(restaurant !== undefined && { tenant: restaurant }),
  ...(user !== undefined && { actor: actorOf(user) }),
  ...(decision !== undefined && { outcome: decision === 'allow' ? 'success' : 'failure' }),
});

/** The filter, and the names of the fields with invalid values. */
export type AskedFilter = { filter: SearchFields; wrong: readonly FilterField[] };

/** Empty fields are ignored. Times without a zone are UTC. */
export const readFilter = ({ query, ports }: Pick<View, 'query' | 'ports'>): AskedFilter => {
  const filter: SearchFields = {};
  const wrong: FilterField[] = [];
  for (const name of textNames) {
    const text = query.get(name)?.trim() ?? '';
    if (text === '') continue;
    if (text.length > textLengthMax || text.includes('\0')) wrong.push(name);
    else filter[name] = text;
  }
  for (const name of timeNames) {
    const text = query.get(name)?.trim() ?? '';
    if (text === '') continue;
    const at = momentOf(text);
    if (at === undefined) wrong.push(name);
    else filter[name] = at;
  }
  const { since, until } = filter;
  // Otherwise the answer to a typing error would be that no event was found.
  if (since !== undefined && until !== undefined && until <= since) wrong.push('until');
  const decision = query.get('decision');
  if (decision === 'allow' || decision === 'deny') filter.decision = decision;
  else if (decision !== null && decision !== '') wrong.push('decision');
  const isKnown = filter.action === undefined || ports.security.actions.some((action) => action === filter.action);
  if (!isKnown) wrong.push('action');
  return { filter, wrong };
};

const momentOf = (text: string): Date | undefined => {
  const [, day, time = 'T00:00', zone = 'Z'] =
    /^(\d{4}-\d{2}-\d{2})([T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?)?(Z|[+-]\d{2}:\d{2})?$/.exec(text) ?? [];
  if (day === undefined || !isDay(day)) return undefined;
  const at = new Date(`${day}${time.replace(' ', 'T')}${zone}`);
  return Number.isNaN(at.getTime()) ? undefined : at;
};

/** Path of the search with this filter; `filter` has the names of the query parameters. */
export const searchHref = (filter: Readonly<Record<string, string | Date | undefined>>): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    if (value === undefined || value === '') continue;
    query.set(name, value instanceof Date ? value.toISOString() : value);
  }
  return query.size === 0 ? searchPath : `${searchPath}?${query}`;
};

/** Links that download the events of a filter. */
export const exportLinks = (texts: Texts, filter: SearchFields): Html[] =>
  exportFormats.map(
    (format) =>
      html`<a class="button" data-download href="${searchHref({ ...filter, format }).replace('/audit', '/audit/export')}">${texts.security.exportAs[format]}</a>`,
  );
