/** Joins the limits of a gateway: units, running requests, failures per client and address, and where a request comes from. */
import type { Kv } from '#src/platform/kv/index.ts';
import type { LimitsSettings } from './config.ts';
import { createFailureBudget, type FailureBudget } from './failure-budget.ts';
import { createRateLimits, type RateLimits } from './rate-limits.ts';
import { createRunningRequests, type RunningRequests } from './running-requests.ts';
import { type AddressOf, createAddressOf, createSourceOf, type SourceOf } from './source-address.ts';

export type Limits = {
  rates: RateLimits;
  running: RunningRequests;
  failures: FailureBudget;
  sourceOf: SourceOf;
  addressOf: AddressOf;
  close(): void;
};

export const createLimits = (settings: LimitsSettings, kv: Kv): Limits => {
  const rates = createRateLimits({
    kv,
    policies: [
      { name: 'minute', quota: settings.rate_minute_units, windowSeconds: 60 },
      { name: 'burst', quota: settings.rate_burst_units, windowSeconds: 1 },
    ],
  });
  const running = createRunningRequests({ kv });
  const failures = createFailureBudget({ kv, failuresMax: settings.rate_failures_max });
  const close = (): void => {
    rates.settle();
    rates.close();
    running.close();
    failures.close();
  };
  const { trusted_proxy_hops: hops } = settings;
  return { rates, running, failures, sourceOf: createSourceOf(hops), addressOf: createAddressOf(hops), close };
};
