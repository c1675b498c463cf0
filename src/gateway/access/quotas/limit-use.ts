/**
 * The step of the pipeline that applies limits: first the windows of a minute and a second, then the quotas by day and month,
 * which only callers with limits of their own have. It counts what each caller used.
 */
import { Fault } from '#src/contract/fault.ts';
import { limitField } from '../../limits/rate-headers.ts';
import type { RateStanding } from '../../limits/rate-meters.ts';
import { quotaUsedUp } from '../../model/faults.ts';
import type { OwnLimits } from '../../model/own-limits.ts';
import type { Exchange, Step } from '../../request/exchange.ts';
import type { QuotaStanding, Quotas } from './quotas.ts';
import type { UsageLog } from './usage-log.ts';

type LimitUseDeps = {
  /** Charges the windows. Throws, or rejects with, RATE_LIMIT_EXCEEDED. */
  limitRate: Step;
  /** Units of a request, once `limitRate` let it pass. */
  unitsOf: (exchange: Exchange) => number;
  quotas: Pick<Quotas, 'spend'>;
  usage: Pick<UsageLog, 'countRequest' | 'countLimited'>;
};

/** A request that a quota refuses was charged to the windows already: a caller that does not stop is slowed down by them. */
export const createLimitUse = ({ limitRate, unitsOf, quotas, usage }: LimitUseDeps): Step => {
  const accept = (exchange: Exchange, callerId: string, units: number, quota?: QuotaStanding): void => {
    if (quota !== undefined) {
      exchange.rate = withQuotas(exchange.rate, quota);
      if (quota.refused !== undefined) {
        const { period, quota: most, endsMs, retryAfterSeconds } = quota.refused;
        usage.countLimited(callerId);
        throw quotaUsedUp(period, most, endsMs, retryAfterSeconds);
      }
    }
    usage.countRequest(callerId, units);
  };

  const limitQuota = (exchange: Exchange): void | Promise<void> => {
    const { principal } = exchange;
    if (principal === undefined) return;
    const { id, limits } = principal;
    const units = unitsOf(exchange);
    if (limits === undefined || !hasQuota(limits)) return accept(exchange, id, units);
    const spent = quotas.spend(id, limits, units);
    if (!(spent instanceof Promise)) return accept(exchange, id, units, spent);
    return spent.then((standing) => accept(exchange, id, units, standing));
  };

  const countRefused = ({ principal }: Exchange, thrown: unknown): never => {
    if (principal !== undefined && thrown instanceof Fault && thrown.status === 429) usage.countLimited(principal.id);
    throw thrown;
  };

  return (exchange) => {
    let pending: void | Promise<void>;
    try {
      pending = limitRate(exchange);
    } catch (thrown) {
      return countRefused(exchange, thrown);
    }
    if (pending === undefined) return limitQuota(exchange);
    return pending.then(
      () => limitQuota(exchange),
      (thrown: unknown) => countRefused(exchange, thrown),
    );
  };
};

const hasQuota = ({ day, month }: OwnLimits): boolean => day !== undefined || month !== undefined;

const withQuotas = (rate: RateStanding | undefined, quota: QuotaStanding): RateStanding => {
  const { policies, policyText, remaining, resetSeconds } = quota;
  const retryAfterSeconds = quota.refused?.retryAfterSeconds;
  const limitText = limitField(policies, remaining, resetSeconds);
  if (rate === undefined) {
    const headers = ['ratelimit-policy', policyText, 'ratelimit', limitText];
    return { headers, policies, remaining, resetSeconds, retryAfterSeconds };
  }
  // Both fields are lists (RFC 9651), so further members follow a comma.
  const [policyName = '', policyBefore, limitName = '', limitBefore] = rate.headers;
  return {
    headers: [policyName, `${policyBefore}, ${policyText}`, limitName, `${limitBefore}, ${limitText}`],
    policies: rate.policies.concat(policies),
    remaining: rate.remaining.concat(remaining),
    resetSeconds: rate.resetSeconds.concat(resetSeconds),
    retryAfterSeconds,
  };
};
