/** Wires the panel: its ports over the features, its events into the gateway's audit. */
import { type AuditAction, appendChange, createSourceOf } from '#src/gateway/index.ts';
import { createPanel, createUsers, type Panel, type RecordEvents, type Users } from '#src/panel/index.ts';
import type { Settings } from '../config.ts';
import type { Installation } from '../installation.ts';
import { createRestaurantPorts } from './restaurant-ports.ts';
import { createSecurityPorts } from './security-ports.ts';
import { createSupportPorts } from './support-ports.ts';

/** What the ports of every area may use. */
export type PortDeps = { installation: Installation; settings: Settings; origin: string };

/** Undefined: switched off. */
export const startPanel = (deps: PortDeps): Panel | undefined => {
  const { installation, settings, origin } = deps;
  if (settings.panel.enabled === 'off') return undefined;
  const { store, box, clock, log } = installation;
  return createPanel({
    db: store.db,
    pool: store.pool,
    box,
    clock,
    log,
    origin,
    settings: settings.panel,
    sourceOf: createSourceOf(settings.gateway.trusted_proxy_hops),
    record: recordEvents(installation),
    ports: {
      restaurant: createRestaurantPorts(deps),
      support: createSupportPorts(deps),
      security: createSecurityPorts(deps),
    },
  });
};

/** For the command line. */
export const usersOf = (installation: Installation, settings: Settings): Users =>
  createUsers({
    db: installation.store.db,
    box: installation.box,
    clock: installation.clock,
    record: recordEvents(installation),
    origin: settings.origin ?? `http://127.0.0.1:${settings.port}`,
  });

const recordEvents =
  ({ box }: Installation): RecordEvents =>
  (tx, now, ...events) =>
    appendChange(
      tx,
      box,
      now,
      ...events.map(({ action, outcome, actor, address, reason, tenants, details }) => ({
        action: action satisfies AuditAction,
        outcome,
        actor: actor ?? null,
        address: address ?? null,
        reason: reason ?? null,
        tenants: tenants ?? [],
        details: JSON.stringify(details ?? {}),
      })),
    );
