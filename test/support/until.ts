/**
 * Waits for a condition instead of a time. Throws, naming the condition, when it does not come true in `timeoutMs`: by default
 * so long that only what hangs meets it, also on a machine that has other work.
 */
export const until = async (condition: () => boolean | Promise<boolean>, timeoutMs = 60_000): Promise<void> => {
  const end = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`not true within ${timeoutMs} ms: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

/** For `expect.poll`: what is promised within a second, and a second for a machine that has other work. */
export const withinASecond = { timeout: 2_000 };
