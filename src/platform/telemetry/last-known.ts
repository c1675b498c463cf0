/** A figure whose reading may take longer than a scrape should, such as one that asks a database that is silent. */

/**
 * Resolves to what `read` finds. When that takes longer than `waitMsMax`, it resolves to the value of the last reading that ended,
 * and the reading goes on for the next call. The first reading is waited for. One reading runs at a time.
 */
export const lastKnown = <T>(read: () => Promise<T>, waitMsMax: number): (() => Promise<T>) => {
  let known: { value: T } | undefined;
  let reading: Promise<T> | undefined;
  const readOnce = async (): Promise<T> => {
    try {
      const value = await read();
      known = { value };
      return value;
    } finally {
      reading = undefined;
    }
  };
  return () => {
    reading ??= readOnce();
    return known === undefined ? reading : within(reading, known.value, waitMsMax);
  };
};

const within = async <T>(reading: Promise<T>, value: T, waitMsMax: number): Promise<T> => {
  const { promise: late, resolve } = Promise.withResolvers<T>();
  const timer = setTimeout(() => resolve(value), waitMsMax);
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
};
