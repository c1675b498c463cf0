/** Adds what this process charged by itself to the shared counters, in batches a few milliseconds later. */
import type { Kv } from '#src/platform/kv/index.ts';
import type { NearLimits } from './near-limits.ts';
import { type Meter, type Metered, runningWindow } from './rate-meters.ts';
import type { RateWindow } from './rate-window.ts';

type SettlementDeps = { kv: Kv; elapsedMs: () => number; learned: NearLimits['learned'] };

export type ChargeSettlement = {
  /** It owes units; they are sent with the next batch. */
  settleSoon(metered: Metered): void;
  /** Sends what it owes now, so that it is counted before what follows on the same connection. */
  settleNow(metered: Metered): void;
  /** Sends everything that is owed now. */
  settle(): void;
  close(): void;
};

const settleMs = 5;
/** While the shared counter is away. */
const retryMs = 100;

export const createChargeSettlement = ({ kv, elapsedMs, learned }: SettlementDeps): ChargeSettlement => {
  const owing = new Set<Metered>();
  let timer: NodeJS.Timeout | undefined;

  const settleSoon = (metered: Metered): void => {
    owing.add(metered);
    timer ??= setTimeout(settle, kv.health() === 'up' ? settleMs : retryMs).unref();
  };

  const settle = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const all = [...owing];
    owing.clear();
    for (const metered of all) settleNow(metered);
  };

  const settleNow = (metered: Metered): void => {
    const nowMs = elapsedMs();
    const { meters } = metered.set;
    for (let i = 0; i < meters.length; i += 1) {
      const window = runningWindow(metered, i, nowMs);
      if (window === undefined || window.owed === 0) continue;
      if (kv.health() === 'up') send(metered, i, window);
      else settleSoon(metered);
    }
  };

  const send = (metered: Metered, i: number, window: RateWindow): void => {
    const { counter } = metered.set.meters[i] as Meter;
    const units = window.owed;
    const releasedBefore = window.released;
    window.owed = 0;
    window.sent += units;
    counter.add(metered.id, units).then(
      (count) => {
        window.sent -= units;
        learned(metered, i, window, count, releasedBefore);
      },
      () => {
        window.sent -= units;
        window.owed += units;
        settleSoon(metered);
      },
    );
  };

  return { settleSoon, settleNow, settle, close: () => clearTimeout(timer) };
};
