/** Random numbers that a seed repeats. */

export type Random = {
  seed: number;
  /** In [0, 1). */
  next(): number;
  /** An integer from `min` to `max`. */
  between(min: number, max: number): number;
  /** One of `choices`, each with its weight. */
  pick<T>(choices: readonly (readonly [weight: number, choice: T])[]): T;
};

/** mulberry32. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    seed,
    next,
    between: (min, max) => min + Math.floor(next() * (max - min + 1)),
    pick: (choices) => {
      let left = next() * choices.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, choice] of choices) {
        left -= weight;
        if (left < 0) return choice;
      }
      throw new Error('there is nothing to pick from');
    },
  };
};

/** TEST_SEED repeats a run. */
export const randomSeed = (): number => Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 32));
