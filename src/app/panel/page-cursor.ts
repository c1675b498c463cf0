/** The cursor of a list that is ordered by age, as text for the query. */
import type { Listed } from '#src/panel/index.ts';

type Place = { created: Date; id: string };

export const cursorOf = (created: Date, id: string): string => `${created.getTime()}.${id}`;

/** Undefined for an invalid cursor; the list then starts at its beginning. */
export const readCursor = (text: string | undefined): Place | undefined => {
  const [, ms, id] = /^(\d{1,15})\.([\w-]{1,80})$/.exec(text ?? '') ?? [];
  return ms === undefined || id === undefined ? undefined : { created: new Date(Number(ms)), id };
};

/** `rows`: the rows of the page, and one more when there is a next page. */
export const pageOf = <T>(rows: readonly T[], limit: number, cursor: (last: T) => string): Listed<T> => {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? cursor(last) : undefined };
};
