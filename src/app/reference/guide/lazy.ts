/**
 * A function that makes its value at the first call, and returns the same one while `versionOf` returns the same. Default: for ever.
 */
export const lazy = <T>(make: () => T, versionOf: () => string = () => ''): (() => T) => {
  let made: { value: T; version: string } | undefined;
  return () => {
    const version = versionOf();
    if (made?.version !== version) made = { value: make(), version };
    return made.value;
  };
};
