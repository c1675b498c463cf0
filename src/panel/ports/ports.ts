/** The types of all ports. The app implements them, so the panel imports no other feature. */
import type { LimitPorts } from './limits.ts';
import type { OrderingPorts } from './ordering.ts';
import type { OverviewPorts } from './overview.ts';
import type { RequestPorts } from './requests.ts';
import type { RestaurantPorts } from './restaurant.ts';
import type { SecurityPorts } from './security.ts';
import type { StaffPorts } from './staff.ts';
import type { SupportPorts } from './support.ts';

export type { LimitPorts } from './limits.ts';
export type { OrderingPorts } from './ordering.ts';
export type { FirstStep, LocatedKind, OverviewPorts } from './overview.ts';
export type { RequestPorts } from './requests.ts';
export type {
  AuditEntry,
  AuditFilter,
  AuditPage,
  CredentialTrace,
  DryRun,
  HashedCredential,
  IssuedToken,
  Reader,
  SecurityPorts,
  SignedHead,
  Verification,
} from './security.ts';
export type { SupportPorts } from './support.ts';

/** One group for each area of pages. Functions that change something take the actor first: `panel:<user id>`. */
export type Ports = {
  staff: StaffPorts;
  restaurant: RestaurantPorts;
  ordering: OrderingPorts;
  support: SupportPorts;
  limits: LimitPorts;
  requests: RequestPorts;
  security: SecurityPorts;
  overview: OverviewPorts;
};
