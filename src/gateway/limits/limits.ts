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
  /** Wrong proofs of one token from one address, under a profile that has this budget (dpop/profile.ts). */
  wrongProofs: FailureBudget;
  sourceOf: SourceOf;
  addressOf: AddressOf;
  close(): void;
};

/**
 * The conformance suite of the profile sends some twenty-five wrong proofs of one token in a row and then expects the right one to
 * work. A key cannot be guessed, so a wrong proof costs a verification and nothing else.
 */
const wrongProofsFactor = 6;

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
  const wrongProofs = createFailureBudget({
    ...{ kv, name: 'wrong_proofs' },
    failuresMax: settings.rate_failures_max * wrongProofsFactor,
  });
  const close = (): void => {
    rates.settle();
    rates.close();
    running.close();
    failures.close();
    wrongProofs.close();
  };
  const { trusted_proxy_hops: hops } = settings;
  const sourceOf = createSourceOf(hops);
  return { rates, running, failures, wrongProofs, sourceOf, addressOf: createAddressOf(hops), close };
};
