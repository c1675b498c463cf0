/** A value of the address as it may go into a search. */

const lengthMax = 255;

/** Trimmed and cut; empty when it is not there. PostgreSQL takes no U+0000, and nobody types it. */
export const queryText = (query: URLSearchParams, name: string): string =>
  (query.get(name) ?? '').replaceAll('\0', '').trim().slice(0, lengthMax);

/** Undefined when it is not there: a list begins at its beginning. */
export const queryCursor = (query: URLSearchParams): string | undefined => queryText(query, 'after') || undefined;
