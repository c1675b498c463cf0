/** Adds what this process charged by itself to the shared counters, in batches a few milliseconds later. */
import type { Kv } from '#src/platform/kv/index.ts';
import { type Meter, type MeteredCaller, runningWindow } from './rate-meters.ts';
import { learn, type RateWindow } from './rate-window.ts';

type SettlementDeps = { kv: Kv; meters: readonly Meter[]; elapsedMs: () => number };

export type ChargeSettlement = {
  /** The caller owes units; they are sent with the next batch. */
  settleSoon(caller: MeteredCaller): void;
  /** Sends what one caller owes now, so that it is counted before what follows on the same connection. */
  settleCaller(caller: MeteredCaller): void;
  /** Sends what all callers owe now. */
  settle(): void;
  close(): void;
};

const settleMs = 5;
/** While the shared counter is away. */
const retryMs = 100;

export const createChargeSettlement = ({ kv, meters, elapsedMs }: SettlementDeps): ChargeSettlement => {
  const owing = new Set<MeteredCaller>();
  let timer: NodeJS.Timeout | undefined;

  const settleSoon = (caller: MeteredCaller): void => {
    owing.add(caller);
    timer ??= setTimeout(settle, kv.health() === 'up' ? settleMs : retryMs).unref();
  };

  const settle = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const all = [...owing];
    owing.clear();
    for (const caller of all) settleCaller(caller);
  };

  const settleCaller = (caller: MeteredCaller): void => {
    const nowMs = elapsedMs();
    for (let i = 0; i < meters.length; i += 1) {
      const window = runningWindow(caller, i, nowMs);
      if (window === undefined || window.owed === 0) continue;
      if (kv.health() === 'up') send(caller, window, meters[i] as Meter);
      else settleSoon(caller);
    }
  };

  const send = (caller: MeteredCaller, window: RateWindow, { counter }: Meter): void => {
    const units = window.owed;
    window.owed = 0;
    window.sent += units;
    counter.add(caller.id, units).then(
      (count) => {
        window.sent -= units;
        learn(window, count, elapsedMs());
      },
      () => {
        window.sent -= units;
        window.owed += units;
        settleSoon(caller);
      },
    );
  };

  return { settleSoon, settleCaller, settle, close: () => clearTimeout(timer) };
};
