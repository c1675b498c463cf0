/** Joins the quotas of callers, and the counts of what they use. */
import type { Kysely } from 'kysely';
import type { Clock } from '#src/platform/clock.ts';
import type { Logger } from '#src/platform/log.ts';
import type { Service } from '#src/platform/supervisor.ts';
import { createQuotas, type Quotas } from './quotas.ts';
import { createUsageLog, type UsageLog } from './usage-log.ts';

export type OpenedQuotas = {
  quotas: Quotas;
  usage: UsageLog;
  services: readonly Service[];
  close(): Promise<void>;
};

export const openQuotas = (deps: { db: Kysely<unknown>; clock: Clock; log: Logger }): OpenedQuotas => {
  const quotas = createQuotas(deps);
  const usage = createUsageLog(deps);
  return { quotas, usage, services: [quotas.service, ...usage.services], close: quotas.close };
};
