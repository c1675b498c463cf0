/** Cancels at many endpoints, one piece of each in turn, so that a long backlog or an attempt in flight delays no other endpoint. */

/** chosen: endpoints of one query, so that no query is long. */
const pageMax = 1_000;

type CancelInTurn<T> = {
  /** A page of the endpoints with something to cancel, by uid, after `after`. */
  list: (after: string, limit: number) => Promise<T[]>;
  /** Cancels a piece. Returns true when more may be left that can be cancelled now. */
  cancelSome: (endpoint: T) => Promise<boolean>;
};

/** Returns when no endpoint has more that can be cancelled now. */
export const cancelInTurn = async <T extends { endpointUid: string }>(
  { list, cancelSome }: CancelInTurn<T>,
  signal: AbortSignal,
): Promise<void> => {
  let isMore = true;
  while (isMore && !signal.aborted) {
    isMore = false;
    let after = '';
    for (let isPage = true; isPage && !signal.aborted; ) {
      const page = await list(after, pageMax);
      for (const one of page) if (!signal.aborted && (await cancelSome(one))) isMore = true;
      after = page.at(-1)?.endpointUid ?? after;
      isPage = page.length === pageMax;
    }
  }
};
