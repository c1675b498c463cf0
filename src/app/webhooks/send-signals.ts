/** Security events (Shared Signals) go to receivers under the rules of webhooks. */
import { createSignalUpkeep, openSignalSender } from '#src/gateway/index.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import { createGuardedPost } from '#src/webhooks/index.ts';
import type { Installation } from '../installation/installation.ts';
import type { Settings } from '../settings/config.ts';
import { targetRules } from './wire-engine.ts';

/** What a gateway asks when a receiver names an address. */
export const pushProblemOf = (settings: Settings, ownOrigins: readonly string[]) =>
  createGuardedPost(targetRules(settings, ownOrigins)).problemOf;

/**
 * The services of a worker. Where the setting is off, streams that were made before still get events queued, so their bounds hold
 * there too.
 */
export const openSignalServices = async (
  { store, box, clock, log }: Installation,
  settings: Settings,
  ownOrigins: readonly string[],
  metrics: Metrics,
): Promise<{ services: readonly Service[]; close: () => Promise<void> }> => {
  if (settings.gateway.signals === 'off')
    return { services: [createSignalUpkeep({ db: store.background, clock })], close: () => Promise.resolve() };
  const { send, close } = createGuardedPost(targetRules(settings, ownOrigins));
  return { services: await openSignalSender({ db: store.background, box, clock, log, send, metrics }), close };
};
