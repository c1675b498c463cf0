/** Pages of a list that is ordered by age, newest first, with a cursor as text. */

/** `next`: cursor of the next page; undefined on the last page. */
export type Page<T> = { items: T[]; next: string | undefined };

type Place = { created: Date; id: string };

export const writePlace = ({ created, id }: Place): string => `${created.getTime()}.${id}`;

/** PostgreSQL does not read the ISO text of a later moment, whose year has six digits. */
const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** Undefined for an invalid cursor; the list then starts at its beginning. */
export const readPlace = (text: string | undefined): Place | undefined => {
  const [, ms, id] = /^(\d{1,15})\.([\w-]{1,80})$/.exec(text ?? '') ?? [];
  return id === undefined || Number(ms) > lastMs ? undefined : { created: new Date(Number(ms)), id };
};

/** `rows`: the rows of the page, and one more when there is a next page. `cursor`: that behind the last item. */
export const pageOf = <T>(rows: readonly T[], limit: number, cursor: (last: T) => string): Page<T> => {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, next: rows.length > limit && last !== undefined ? cursor(last) : undefined };
};
