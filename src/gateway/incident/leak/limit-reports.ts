/** Bounds the reports of leaked credentials, by source and as a whole, so that neither guesses nor floods reach the store. */
import type { Kv } from '#src/platform/kv/index.ts';
import { createRecentMap } from '#src/platform/recent-map.ts';
import { createThrottle } from '../../limits/throttle.ts';

/** Both count a report, and give the seconds to wait when it is one too many. */
export type LimitReports = {
  ofSource(source: string): number | undefined;
  inAll(): Promise<number | undefined>;
};

type LimitReportsDeps = { kv: Kv; name: string; perSourceMax: number; wholeMax: number; elapsedMs?: () => number };

const windowSeconds = 60;
/** Sources are not authenticated, so a bounded number is remembered, by each gateway for itself. */
const sourcesMax = 10_000;

export const createLimitReports = (deps: LimitReportsDeps): LimitReports => {
  const { kv, name, perSourceMax, wholeMax } = deps;
  const elapsedMs = deps.elapsedMs ?? (() => performance.now());
  const sources = createRecentMap<string, { count: number; endsAtMs: number }>(sourcesMax);
  const takeWhole = createThrottle({ kv, name, callsMax: wholeMax, windowSeconds });
  return {
    ofSource: (source) => {
      const nowMs = elapsedMs();
      const held = sources.get(source);
      const window =
        held === undefined || nowMs >= held.endsAtMs ? { count: 0, endsAtMs: nowMs + windowSeconds * 1000 } : held;
      window.count += 1;
      if (window !== held) sources.set(source, window);
      return window.count > perSourceMax ? Math.max(1, Math.ceil((window.endsAtMs - nowMs) / 1000)) : undefined;
    },
    inAll: () => takeWhole('all'),
  };
};
