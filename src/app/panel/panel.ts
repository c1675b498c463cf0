/** Builds the panel with its ports. */
import { createReadSource } from '#src/gateway/index.ts';
import { createPanel, type Panel } from '#src/panel/index.ts';
import { listenOn } from '#src/platform/db/hints/listen.ts';
import { isTransient } from '#src/platform/db/transaction.ts';
import { startStaff } from '../admin/staff.ts';
import type { LiveSecrets } from '../settings/live-secrets.ts';
import { pushProblemOf } from '../webhooks/send-signals.ts';
import { createCertificatePorts } from './certificate-ports.ts';
import { createLimitPorts } from './limit-ports.ts';
import { createMenuPorts } from './menu-ports.ts';
import { createOrderingPorts } from './ordering-ports.ts';
import { createOverviewPorts } from './overview-ports.ts';
import { createPeoplePorts } from './people-ports.ts';
import type { PortDeps } from './port-deps.ts';
import { createPortalPorts } from './portal-ports.ts';
import { createRequestPorts } from './request-ports.ts';
import { createRestaurantPorts } from './restaurant-ports.ts';
import { createSecurityPorts } from './security-ports.ts';
import { createSignalPorts } from './signal-ports.ts';
import { createSupportPorts } from './support-ports.ts';

/** A smaller pool cannot spare a connection that listens for hints. */
const hintsPoolMin = 5;

/** Undefined when the panel is switched off. */
export const startPanel = (deps: PortDeps & { secrets: Pick<LiveSecrets, 'read'> }): Panel | undefined => {
  const { installation, settings, origin, secrets } = deps;
  if (settings.panel.enabled === 'off') return undefined;
  const { clock, log } = installation;
  const { sessions } = installation.store;
  const staff = startStaff(installation, settings, origin, secrets, pushProblemOf(settings, deps.ownOrigins));
  const panel = createPanel({
    clock,
    log,
    origin,
    hstsSeconds: settings.gateway.hsts_seconds,
    isPassing: isTransient,
    listen:
      sessions.options.max < hintsPoolMin
        ? undefined
        : (channels, onNews, signal) => listenOn(sessions, channels, onNews, signal),
    readSource: createReadSource(settings.gateway.trusted_proxy_hops),
    ports: {
      staff: createPeoplePorts(deps, staff),
      restaurant: createRestaurantPorts(deps),
      ordering: createOrderingPorts(deps, staff.users),
      menu: createMenuPorts(deps),
      support: createSupportPorts(deps),
      limits: createLimitPorts(deps),
      requests: createRequestPorts(deps),
      signals: createSignalPorts(deps),
      certificates: createCertificatePorts(deps),
      security: createSecurityPorts(deps, staff.users),
      portal: createPortalPorts(deps),
      overview: createOverviewPorts(deps),
    },
  });
  return { ...panel, services: [...panel.services, ...staff.services] };
};
