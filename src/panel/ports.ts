/** Everything that the panel calls, as types: the app wires it, so the panel knows no other feature. */
import type { RestaurantPorts } from './ports/restaurant.ts';
import type { SecurityPorts } from './ports/security.ts';
import type { StaffPorts } from './ports/staff.ts';
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
export type { StaffPorts } from './ports/staff.ts';
export type { SupportPorts } from './ports/support.ts';

/** One group per area of pages. Whatever changes something takes the actor first: `panel:<user id>`. */
export type Ports = { staff: StaffPorts; restaurant: RestaurantPorts; support: SupportPorts; security: SecurityPorts };
