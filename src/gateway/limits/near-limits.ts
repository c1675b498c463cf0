/**
 * Processes that count together tell each other of a window that is nearly used up: one that served nothing of the caller for
 * a while would else decide by an old total.
 */
import type { Count, Kv } from '#src/platform/kv/index.ts';
import { type Meter, type Metered, runningWindow } from './rate-meters.ts';
import { learn, type RateWindow } from './rate-window.ts';

type NearLimitsDeps = {
  kv: Kv;
  elapsedMs: () => number;
  /** What has the first policy of that name and that id, if this process knows it. */
  find: (policy: string, id: string) => Metered | undefined;
};

export type NearLimits = {
  /**
   * Applies the answer of a shared counter to its window, and tells the other processes when that is nearly used up.
   * `releasedBefore`: `released` of the window when the question was sent.
   */
  learned(metered: Metered, i: number, window: RateWindow, count: Count, releasedBefore: number): void;
  close(): void;
};

const channel = 'rate-near';

/** The name of the first policy and the id of what was charged, the index of the policy, and its count. */
type Message = [policy: string, id: string, i: number, used: number, msLeft: number];

/** Undefined for a text of another form: every program that shares the Redis may publish. */
const readMessage = (text: string): Message | undefined => {
  try {
    const message: unknown = JSON.parse(text);
    return isMessage(message) ? message : undefined;
  } catch {
    return undefined;
  }
};

const isMessage = (value: unknown): value is Message => {
  if (!Array.isArray(value)) return false;
  const [policy, id, i, used, msLeft]: unknown[] = value;
  const areTexts = typeof policy === 'string' && typeof id === 'string';
  return (
    areTexts &&
    Number.isSafeInteger(i) &&
    [i, used, msLeft].every((number) => typeof number === 'number' && number >= 0)
  );
};

export const createNearLimits = ({ kv, elapsedMs, find }: NearLimitsDeps): NearLimits => {
  /** True when the window is nearly used up since then. */
  const apply = ({ set }: Metered, i: number, window: RateWindow, count: Count, releasedBefore: number): boolean => {
    learn(window, count, releasedBefore, elapsedMs());
    const isNews = !window.announced && window.used >= (set.meters[i] as Meter).nearAt;
    window.announced ||= isNews;
    return isNews;
  };
  const end = kv.subscribe(channel, (text) => {
    const message = readMessage(text);
    if (message === undefined) return;
    const [policy, id, i, used, msLeft] = message;
    const metered = find(policy, id);
    // Without a window the first charge asks the shared counter.
    const window = metered && runningWindow(metered, i, elapsedMs());
    if (metered !== undefined && window !== undefined) apply(metered, i, window, { used, msLeft }, window.released);
  });
  return {
    learned: (metered, i, window, count, releasedBefore) => {
      const { asksFirst, name } = metered.set.meters[0] as Meter;
      if (!apply(metered, i, window, count, releasedBefore) || !asksFirst) return;
      const message: Message = [name, metered.id, i, count.used, count.msLeft];
      kv.publish(channel, JSON.stringify(message));
    },
    close: end,
  };
};
