/** The services of a worker: webhooks, the countdowns of orders, and pushes of security events where they are on. */
import { openSignalSender } from '#src/gateway/index.ts';
import { createOrdering } from '#src/ordering/index.ts';
import { createGuardedPost, createWebhooks, type Webhooks } from '#src/webhooks/index.ts';
import type { Context } from '../context.ts';
import { orderingDeps } from '../internal-listener.ts';
import { runsWorker } from '../settings/role-parts.ts';
import { ownerRights, targetRules } from './wire-engine.ts';

/** Undefined: the role has no worker. */
export const startWorkers = async ({
  settings,
  installation,
  secrets,
  services,
  ownOrigins,
  ...rest
}: Context): Promise<Webhooks | undefined> => {
  if (!runsWorker(settings)) return undefined;
  const { store, box, clock, log } = installation;
  const webhooks = createWebhooks({
    db: store.db,
    background: store.background,
    pool: store.sessions,
    box,
    clock,
    log,
    settings: settings.webhooks,
    observers: { metrics: rest.metrics, traces: rest.traces },
    rights: ownerRights(store.background),
    rules: targetRules(settings, ownOrigins),
  });
  const ordering = createOrdering({ ...orderingDeps(settings, installation, secrets), db: store.background });
  services.push(...webhooks.services, ...ordering.services);
  if (settings.gateway.signals === 'on') {
    const { send, close } = createGuardedPost(targetRules(settings, ownOrigins));
    rest.closers.add(close);
    services.push(...(await openSignalSender({ db: store.background, box, clock, log, send })));
  }
  return webhooks;
};
