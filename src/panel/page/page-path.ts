/** Paths of pages. */

/** The prefix of every page. */
export const panelPath = '/panel';

/** The path with its parameters filled in; undefined when one is missing. */
export const fillPath = (path: string, params: Readonly<Record<string, string>>): string | undefined => {
  const segments = path.split('/').map((segment) => {
    if (!segment.startsWith(':')) return segment;
    const value = params[segment.slice(1)];
    return value === undefined ? undefined : encodeURIComponent(value);
  });
  return segments.includes(undefined) ? undefined : `${panelPath}${segments.join('/')}`;
};

/** The path with those query parameters that are defined and not empty. */
export const withQuery = (path: string, fields: Readonly<Record<string, string | undefined>>): string => {
  const query = new URLSearchParams(
    Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined && field[1] !== ''),
  );
  return query.size === 0 ? path : `${path}?${query}`;
};
