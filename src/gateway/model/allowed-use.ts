/**
 * The types of an allowed request that is not yet written to the audit. They are separate from
 * audit/record/gather-allowed.ts because an exchange carries one from the decision to the answer.
 */

/** Facts that all requests of one group share, named as in the audit event (audit/event/event.ts). */
export type SharedFacts = {
  kind: string | null;
  credential_id: string | null;
  client_id: string | null;
  tenants: readonly string[];
  route_id: string | null;
  scopes: readonly string[];
  address: string | null;
};

/** Facts that all requests of one caller to one route share. */
export type Allowed = SharedFacts & { fingerprint: string | null; token_id: string | null };

/** Requests that wait to be written: `requestIds[i]` was made by `uses[i]`. `at`: time of the first. */
export type Group<Facts extends SharedFacts = SharedFacts> = {
  readonly shared: Facts;
  at: Date;
  requestIds: string[];
  uses: AllowedUse<Facts>[];
  /** One of the ids needs an index entry, because it does not tell its own time (request-id-times.ts). */
  hasOthers: boolean;
};

/** Position of the piece that collects the ids of one user in the current round of writing. */
export type Placed = { round: number; place: number };

/** An access token. There is one object per token, even when its client was read anew in between. */
export type GatheredToken = Placed & {
  readonly start: string;
  readonly key: string;
  /** Month in which the token last had an event of its own. Events are kept and dropped by the month. */
  month: number;
};

/** One caller on one route, for as long as its requests are gathered. */
export type AllowedUse<Facts extends SharedFacts = SharedFacts> = Placed & {
  readonly group: Group<Facts>;
  readonly fingerprint: string | null;
  readonly token_id: string | null;
  /** Undefined: its events hold no other caller. */
  readonly token: GatheredToken | undefined;
};
