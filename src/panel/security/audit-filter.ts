/** The filter of a search, as it stands in the address bar. */
import type { View } from '../page/page.ts';
import type { AuditFilter } from '../ports/ports.ts';

const textNames = [
  'client',
  'restaurant',
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

/** What was asked for, and the names of the fields that say nothing that could be looked for. */
export type AskedFilter = { filter: AuditFilter; wrong: readonly FilterField[] };

/** Empty fields are not part of the filter. Times without a zone are taken as UTC. */
export const readFilter = ({ query, ports }: Pick<View, 'query' | 'ports'>): AskedFilter => {
  const filter: AuditFilter = {};
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
  if (day === undefined) return undefined;
  const at = new Date(`${day}${time.replace(' ', 'T')}${zone}`);
  return Number.isNaN(at.getTime()) ? undefined : at;
};

/** Address of the search for these; `filter`: names as in the address bar. */
export const searchHref = (filter: Readonly<Record<string, string | Date | undefined>>): string => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filter)) {
    if (value === undefined || value === '') continue;
    query.set(name, value instanceof Date ? value.toISOString() : value);
  }
  return query.size === 0 ? searchPath : `${searchPath}?${query}`;
};
