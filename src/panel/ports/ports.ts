/** The types of all ports. The app implements them, so the panel imports no other feature. */
import type { CertificatePorts } from './certificates.ts';
import type { LimitPorts } from './limits.ts';
import type { MenuPorts } from './menu.ts';
import type { OrderingPorts } from './ordering.ts';
import type { OverviewPorts } from './overview.ts';
import type { PortalPorts } from './portal.ts';
import type { RequestPorts } from './requests.ts';
import type { RestaurantPorts } from './restaurant.ts';
import type { SecurityPorts } from './security.ts';
import type { SignalPorts } from './signals.ts';
import type { StaffPorts } from './staff.ts';
import type { SupportPorts } from './support.ts';

export type { CertificatePorts } from './certificates.ts';
export type { LimitPorts } from './limits.ts';
export type { MenuPorts } from './menu.ts';
export type { OrderingPorts } from './ordering.ts';
export type { FirstStep, LocatedKind, OverviewPorts } from './overview.ts';
export type { PortalPorts } from './portal.ts';
export type { RequestPorts } from './requests.ts';
export type {
  AuditEntry,
  AuditFilter,
  AuditNames,
  Reader,
  SecurityPorts,
} from './security.ts';
export type { SignalPorts } from './signals.ts';
export type { SupportPorts } from './support.ts';

/** One group for each area of pages. Functions that change something take the actor first: `panel:<user id>`. */
export type Ports = {
  staff: StaffPorts;
  restaurant: RestaurantPorts;
  ordering: OrderingPorts;
  menu: MenuPorts;
  support: SupportPorts;
  limits: LimitPorts;
  requests: RequestPorts;
  portal: PortalPorts;
  security: SecurityPorts;
  signals: SignalPorts;
  certificates: CertificatePorts;
  overview: OverviewPorts;
};
