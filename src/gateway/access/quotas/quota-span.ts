/** Pure: the days and months for which quotas hold, in UTC: one moment everywhere, without a day of 23 or 25 hours. */

export type QuotaPeriod = 'day' | 'month';

/** In this sequence in headers, and in statements that lock rows. */
export const quotaPeriods: readonly QuotaPeriod[] = ['day', 'month'];

export type QuotaSpan = { startsMs: number; endsMs: number };

export const spanOf = (period: QuotaPeriod, nowMs: number): QuotaSpan => {
  const now = new Date(nowMs);
  const [year, month, day] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()];
  return period === 'day'
    ? { startsMs: Date.UTC(year, month, day), endsMs: Date.UTC(year, month, day + 1) }
    : { startsMs: Date.UTC(year, month, 1), endsMs: Date.UTC(year, month + 1, 1) };
};
