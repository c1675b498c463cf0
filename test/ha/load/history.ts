/** Every call of a run with its beginning, its end and its answer. All of it is checked. */

export type CallKind = 'order' | 'close' | 'menu' | 'token' | 'use' | 'revoke';

/** Calls that change something durable; their acknowledgement is a promise. */
const writes: ReadonlySet<CallKind> = new Set(['order', 'close', 'menu', 'token', 'revoke']);

export type Call = {
  kind: CallKind;
  /** The idempotency key, or the name of the credential that was used. */
  key: string;
  /** Since the start of the run. */
  beginMs: number;
  endMs: number;
  /** 0: no answer came. */
  status: number;
  /** The code of a refusal. */
  error: string;
  hasRetryAfter: boolean;
  /** That of the order in an acknowledgement. */
  uid?: string;
};

export type Credential = {
  name: string;
  headers: Record<string, string>;
  /** When its revocation was sent first. Undefined: never. */
  revokingMs?: number;
  /** When its revocation was acknowledged. */
  revokedMs?: number;
};

/** A time without an acknowledged write. */
export type Outage = { beginMs: number; endMs: number };

export type History = {
  calls: Call[];
  credentials: Credential[];
  outages: Outage[];
  /** Milliseconds since the start of the run. */
  now(): number;
};

export const createHistory = (): History => {
  const startMs = performance.now();
  return { calls: [], credentials: [], outages: [], now: () => performance.now() - startMs };
};

export const isWrite = ({ kind }: Call): boolean => writes.has(kind);
export const isAcknowledged = ({ status }: Call): boolean => status === 200;
