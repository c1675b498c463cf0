/** The result of one POST to a receiver. */
export type Failure = 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'status' | 'redirect' | 'target_refused';

/** Milliseconds; null for a part that was not reached, 0 for a part that a kept connection saved. */
export type Timings = {
  dns: number | null;
  connect: number | null;
  tls: number | null;
  firstByte: number | null;
  total: number;
};

export type SendResult = {
  address: string | null;
  status: number | null;
  /** Null when the receiver accepted the event. */
  failure: Failure | null;
  retryAfter: string | undefined;
  /** The start of the response body, or the reason why nothing was sent. */
  response: string | null;
  timings: Timings;
};
