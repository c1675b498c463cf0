/**
 * The step of the pipeline that applies limits: first the windows of a minute and a second, then the quotas by day and month,
 * which only callers with limits of their own have. It counts what each caller used.
 */
import { Fault } from '#src/contract/fault.ts';
import { quotaUsedUp } from '../../model/faults.ts';
import type { OwnLimits } from '../../model/own-limits.ts';
import type { Exchange, Step } from '../../request/exchange.ts';
import type { FullQuota, Quotas } from './quotas.ts';
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
  const accept = ({ rate }: Exchange, callerId: string, units: number, full?: FullQuota): void => {
    if (full !== undefined) {
      usage.countLimited(callerId);
      throw quotaUsedUp(full.period, full.quota, full.endsMs, rate?.retryAfterSeconds ?? 1);
    }
    usage.countRequest(callerId, units);
  };

  const limitQuota = (exchange: Exchange): void | Promise<void> => {
    const { principal, rate } = exchange;
    if (principal === undefined) return;
    const { id, limits, quotaOf = id } = principal;
    const units = unitsOf(exchange);
    if (limits === undefined || !hasQuota(limits)) return accept(exchange, id, units);
    if (rate === undefined) throw new Error('cannot spend a quota before the windows were charged');
    const full = quotas.spend({ id, quotaOf }, limits, units, rate);
    if (!(full instanceof Promise)) return accept(exchange, id, units, full);
    return full.then((decided) => accept(exchange, id, units, decided));
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
