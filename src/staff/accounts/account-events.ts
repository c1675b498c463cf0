/** Audit events of accounts and sessions. */
import type { Kysely } from 'kysely';

type StaffAction =
  | 'user.created'
  | 'user.changed'
  | 'user.link_made'
  | 'user.password_set'
  | 'user.totp_added'
  | 'user.totp_removed'
  | 'user.passkey_added'
  | 'user.passkey_renamed'
  | 'user.passkey_removed'
  | 'user.factor_policy_changed'
  | 'user.notices_changed'
  | 'user.notice_secret_rotated'
  | 'user.signed_in'
  | 'user.sign_in_failed'
  | 'user.check_failed'
  | 'user.signed_out'
  | 'user.session_ended'
  | 'user.search_saved'
  | 'user.search_removed';

export type StaffEvent = {
  action: StaffAction;
  outcome: 'success' | 'failure';
  /** `panel:<user id>` or `cli:<name>`; undefined for an unknown actor. */
  actor?: string;
  address?: string;
  reason?: string;
  tenants?: readonly string[];
  /** The API client that the event is about. */
  clientId?: string;
  /** Must not contain secrets. */
  details?: Readonly<Record<string, unknown>>;
};

/** Writes the events to the audit in the transaction of the change. */
export type RecordEvents = (tx: Kysely<unknown>, now: Date, ...events: readonly StaffEvent[]) => Promise<void>;
