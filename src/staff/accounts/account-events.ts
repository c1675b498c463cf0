/** What happens to accounts and sessions, as the audit hears of it. */
import type { Kysely } from 'kysely';

export type StaffAction =
  | 'user.created'
  | 'user.changed'
  | 'user.link_made'
  | 'user.password_set'
  | 'user.totp_added'
  | 'user.totp_removed'
  | 'user.signed_in'
  | 'user.sign_in_failed'
  | 'user.signed_out'
  | 'user.session_ended';

export type StaffEvent = {
  action: StaffAction;
  outcome: 'success' | 'failure';
  /** `panel:<user id>`, `cli:<name>`, or undefined for somebody unknown. */
  actor?: string;
  address?: string;
  reason?: string;
  tenants?: readonly string[];
  /** Never a secret. */
  details?: Readonly<Record<string, unknown>>;
};

/** Writes into the audit in the transaction of the change. */
export type RecordEvents = (tx: Kysely<unknown>, now: Date, ...events: readonly StaffEvent[]) => Promise<void>;
