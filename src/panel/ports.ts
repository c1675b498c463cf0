/** Everything that the panel calls, as types: the app wires it, so the panel knows no other feature. */
import type { Kysely } from 'kysely';
import type { RestaurantPorts } from './ports/restaurant.ts';
import type { SecurityPorts } from './ports/security.ts';
import type { SupportPorts } from './ports/support.ts';

export type { RestaurantPorts } from './ports/restaurant.ts';
export type {
  AuditChart,
  AuditEntry,
  AuditFilter,
  AuditPage,
  ChartDimension,
  ChartSeries,
  CredentialState,
  CredentialTrace,
  DryRun,
  HashedCredential,
  IssuedToken,
  LiveCredential,
  LiveKind,
  Reader,
  SecurityPorts,
  SignedHead,
  Verification,
} from './ports/security.ts';
export type { SupportPorts } from './ports/support.ts';

/** One group per area of pages. Whatever changes something takes the actor first: `panel:<user id>`. */
export type Ports = { restaurant: RestaurantPorts; support: SupportPorts; security: SecurityPorts };

export type PanelAction =
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

export type PanelEvent = {
  action: PanelAction;
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
export type RecordEvents = (tx: Kysely<unknown>, now: Date, ...events: readonly PanelEvent[]) => Promise<void>;
