import { isDeepStrictEqual } from 'node:util';

/**
 * Waits for a condition instead of a time. Throws, naming the condition, when it does not come true in `timeoutMs`: by default
 * so long that only what hangs meets it, also on a machine that has other work.
 */
export const until = async (condition: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<void> => {
  const startedAtMs = Date.now();
  while (!(await condition())) {
    const waitedMs = Date.now() - startedAtMs;
    if (waitedMs > timeoutMs) throw new Error(`not true within ${timeoutMs} ms: ${condition.toString()}`);
    // Many questions take the processor from what they wait for, so those of a long wait are rarer.
    const pauseMs = Math.min(100, Math.max(20, waitedMs / 20));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
};

/** The status of a gateway that cannot read in time whether a credential changed: it neither accepts nor refuses it. */
const cannotCheck = 503;

/**
 * Waits until `ask` gives `expected`, and throws when an earlier answer belongs to a request of more than a second after the
 * call. The start of a request counts and not its answer, because a gateway decides after that: a busy machine makes answers
 * late, but may not make a gateway accept what ended more than a second before it was asked.
 */
export const isWithinASecond = async <T>(ask: () => Promise<T>, expected: T): Promise<void> => {
  const calledAtMs = performance.now();
  await until(async () => {
    const afterMs = performance.now() - calledAtMs;
    const answer = await ask();
    if (isDeepStrictEqual(answer, expected)) return true;
    if (afterMs > 1_000 && ![answer].flat().some((status) => status === cannotCheck))
      throw new Error(`still ${JSON.stringify(answer)} when asked ${Math.round(afterMs)} ms later: ${ask.toString()}`);
    return false;
  });
};

const hourMs = 3_600_000;

/** Waits until the hour goes on for two minutes: what a page counts by hours moves when one ends. */
export const untilHourLasts = (): Promise<void> => until(() => hourMs - (Date.now() % hourMs) > 120_000, 150_000);
