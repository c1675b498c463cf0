/** The services of a worker that bring security events to receivers. */
import type { SecretBox } from '#src/platform/secret-box.ts';
import type { Service } from '#src/platform/supervisor.ts';
import type { Metrics } from '#src/platform/telemetry/metrics.ts';
import { createSignalPush, type PushDeps } from './push.ts';
import { createSignSet } from './sign-set.ts';
import { openSignalKeys } from './signal-keys.ts';
import { createSignalMetrics } from './signal-metrics.ts';
import { createSignalUpkeep } from './upkeep.ts';

type SenderDeps = Omit<PushDeps, 'sign' | 'box' | 'count'> & {
  box: Pick<SecretBox, 'seal' | 'open'>;
  metrics: Metrics;
};

export const openSignalSender = async (deps: SenderDeps): Promise<Service[]> => {
  const sign = createSignSet(await openSignalKeys(deps));
  const count = createSignalMetrics(deps.metrics, deps.db, deps.clock);
  return [createSignalPush({ ...deps, sign, count }), createSignalUpkeep(deps)];
};
