/** Adds what this process charged by itself to the shared counters, in batches a few milliseconds later. */
import type { Count, Kv } from '#src/platform/kv/index.ts';
import type { NearLimits } from './near-limits.ts';
import { type Meter, type Metered, runningWindow } from './rate-meters.ts';
import type { RateWindow } from './rate-window.ts';

type SettlementDeps = { kv: Kv; elapsedMs: () => number; learned: NearLimits['learned'] };

export type ChargeSettlement = {
  /** It owes units; they are sent with the next batch. */
  settleSoon(metered: Metered): void;
  /** Sends what it owes now, so that it is counted before what follows on the same connection. */
  settleNow(metered: Metered): void;
  /** Asks the shared counter. Throws KvAway: the request is to be decided here, which charges its units. */
  take(metered: Metered, i: number, window: RateWindow, units: number): Promise<boolean>;
  /** Takes units off again that the shared counter has counted. Those that cannot be sent now are owed with a minus. */
  takeOff(metered: Metered, i: number, window: RateWindow, units: number): void;
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

  const owe = (metered: Metered, window: RateWindow, units: number): void => {
    window.owed += units;
    settleSoon(metered);
  };

  const { take, takeOff } = createAsk(owe, learned);

  const send = (metered: Metered, i: number, window: RateWindow): void => {
    const { counter } = metered.set.meters[i] as Meter;
    const units = window.owed;
    const releasedBefore = window.released;
    window.owed = 0;
    if (units < 0) return takeOff(metered, i, window, -units);
    window.sent += units;
    const counted = (count: Count): void => {
      window.sent -= units;
      learned(metered, i, window, count, releasedBefore);
    };
    const failed = (): void => {
      window.sent -= units;
      owe(metered, window, units);
    };
    // Sent again, units whose answer is only late would be counted twice.
    let answer: Promise<Count> | undefined;
    counter
      .add(metered.id, units, (late) => {
        answer = late;
      })
      .then(counted, () => (answer === undefined ? failed() : void answer.then(counted, failed)));
  };

  return {
    settleSoon,
    settleNow,
    take,
    takeOff,
    settle,
    close: () => clearTimeout(timer),
  };
};

/** Questions that a request waits for, and units that such a question took too many. */
const createAsk = (
  owe: (metered: Metered, window: RateWindow, units: number) => void,
  learned: NearLimits['learned'],
): Pick<ChargeSettlement, 'take' | 'takeOff'> => {
  const take = async (metered: Metered, i: number, window: RateWindow, units: number): Promise<boolean> => {
    const { counter } = metered.set.meters[i] as Meter;
    const releasedBefore = window.released;
    const count = await counter.take(metered.id, units, (late) => {
      const counted = (answer: Count & { taken: boolean }): void => {
        // The same units were charged here meanwhile.
        if (answer.taken && units > 0) owe(metered, window, -units);
        learned(metered, i, window, answer, releasedBefore);
      };
      late.then(counted, () => undefined);
    });
    learned(metered, i, window, count, releasedBefore);
    return count.taken;
  };

  const takeOff = (metered: Metered, i: number, window: RateWindow, units: number): void => {
    const { counter } = metered.set.meters[i] as Meter;
    window.released += units;
    const failed = (): void => owe(metered, window, -units);
    let answer: Promise<void> | undefined;
    counter
      .release(metered.id, units, (late) => {
        answer = late;
      })
      .catch(() => (answer === undefined ? failed() : void answer.catch(failed)));
  };
  return { take, takeOff };
};
