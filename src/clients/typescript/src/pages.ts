type Page = { more: boolean; next_cursor: string | null };

/** A cursor continues the list, so neither a page number nor `after` stands beside it. */
type Next = { cursor?: string; page?: undefined; after?: undefined };

/** The items of all pages. A page may be empty while `more` is true. */
export async function* itemsOf<P extends Page, Item>(
  request: (next: Next) => Promise<P>,
  read: (page: P) => readonly Item[],
): AsyncGenerator<Item, void, undefined> {
  let page = await request({});
  yield* read(page);
  let cursor: string | null = null;
  // A cursor that stays the same would never end.
  while (page.more && page.next_cursor !== null && page.next_cursor !== cursor) {
    cursor = page.next_cursor;
    page = await request({ cursor, page: undefined, after: undefined });
    yield* read(page);
  }
}
