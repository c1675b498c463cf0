/**
 * Remembers a document of another server. One request at a time reads it. A caller waits for a reading of an old document, so that
 * what the server removed is not used any more; while readings fail the document is used, and callers do not wait.
 */

export type Remembered<T> = {
  /** Undefined: it could not be read, or is too old to be used. */
  document: T | undefined;
  /** The last attempt to read it failed. */
  isFailing: boolean;
};

export type RememberedDocument<T> = {
  /** `fits` false: the document is read again, unless the last attempt was less than `againMs` ago. Never rejects. */
  read(fits: (document: T) => boolean): Promise<Remembered<T>>;
};

type RememberedDeps<T> = {
  load: () => Promise<T>;
  /** Called for each failed attempt. */
  onFailed: (error: unknown) => void;
  bounds: {
    /** Age after which it is read again. After a failed reading, callers of this time do not wait for another one. */
    freshMs: number;
    /** Age after which it is not used any more. */
    keptMs: number;
    /** Least time between two attempts. */
    againMs: number;
  };
  /** Milliseconds. After a step back everything counts as old. */
  elapsedMs: () => number;
};

export const createRememberedDocument = <T>({
  load,
  onFailed,
  bounds,
  elapsedMs,
}: RememberedDeps<T>): RememberedDocument<T> => {
  let known: { document: T; readAtMs: number } | undefined;
  let triedAtMs = Number.NEGATIVE_INFINITY;
  /** When the last attempt ended. */
  let endedAtMs = Number.NEGATIVE_INFINITY;
  let isFailing = false;
  let loading: Promise<void> | undefined;

  const isPast = (atMs: number, ms: number): boolean => {
    const ageMs = elapsedMs() - atMs;
    return ageMs >= ms || ageMs < 0;
  };

  const loadOnce = async (): Promise<void> => {
    try {
      const document = await load();
      known = { document, readAtMs: elapsedMs() };
      isFailing = false;
    } catch (error) {
      isFailing = true;
      onFailed(error);
    } finally {
      endedAtMs = elapsedMs();
      loading = undefined;
    }
  };
  /** The running attempt, or a new one when the last was long enough ago. */
  const attempt = (): Promise<void> | undefined => {
    if (loading === undefined && isPast(triedAtMs, bounds.againMs)) {
      triedAtMs = elapsedMs();
      loading = loadOnce();
    }
    return loading;
  };

  return {
    read: async (fits) => {
      if (known !== undefined && elapsedMs() - known.readAtMs >= bounds.keptMs) known = undefined;
      if (known === undefined || !fits(known.document)) await attempt();
      else if (isPast(known.readAtMs, bounds.freshMs)) {
        const running = attempt();
        if (isPast(endedAtMs, bounds.freshMs)) await running;
      }
      return { document: known?.document, isFailing };
    },
  };
};
