/** The port of the requests of clients and keys; `src/app/panel/request-ports.ts` implements it with the gateway. */

export const requestStatuses = ['2xx', '3xx', '4xx', '5xx', 'none'] as const;

export type RequestFilter = {
  /** `none`: without an answer. */
  status: (typeof requestStatuses)[number] | undefined;
  route: string | undefined;
  code: string | undefined;
  requestId: string | undefined;
  restaurant: string | undefined;
  since: Date | undefined;
  until: Date | undefined;
};

/** A refused or failed request, or a write. */
export type CalledRequest = {
  requestId: string;
  at: Date;
  method: string;
  /** Id of the operation; null: there is none. */
  route: string | null;
  /** Null: the gateway saw no answer. */
  status: number | null;
  code: string | null;
  durationMs: number;
  restaurant: string | null;
  idempotencyKey: string | null;
};

type CalledHour = {
  hour: Date;
  route: string | null;
  reads: number;
  writes: number;
  refused: number;
  failed: number;
};

/** `next`: cursor of the next page, null on the last one. */
type Listed<T> = { items: readonly T[]; next: string | null };

export type RequestPorts = {
  /** Days that requests are kept; 0: none is. */
  days: number;
  /** `caller`: id of a client or key. Newest first; a page may be short before the last one. */
  list(caller: string, filter: RequestFilter, cursor: string | undefined): Promise<Listed<CalledRequest>>;
  hours(caller: string, route: string | undefined, cursor: string | undefined): Promise<Listed<CalledHour>>;
};
