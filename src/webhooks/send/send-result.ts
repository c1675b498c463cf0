/** The result of one POST to a receiver. */
export type Failure = 'dns' | 'connect' | 'tls' | 'timeout' | 'reset' | 'status' | 'redirect' | 'target_refused';

/** Milliseconds; null for a part that was not reached, 0 for one that a kept connection spared. */
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
  /** null: the receiver has it. */
  failure: Failure | null;
  retryAfter: string | undefined;
  /** The start of the answer's body, or why nothing was sent. */
  response: string | null;
  timings: Timings;
};
